"""README and docs/: what they point to is there, and what they name exists."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from proxy.cli.commands import COMMANDS, load_command
from proxy.settings import Settings, load

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")),
    *sorted((ROOT / "docs").glob("*.md")),
]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ENVIRONMENT = re.compile(r"\bLINKMEND_([A-Z0-9]+)_([A-Z0-9_]+)\b")
NOT_FOR_READERS = re.compile(
    r"/(?:work/|root/|tmp/|home/\w|opt/pypi)|file://|pypi\.|index-url|artifactory|\bregistry\.", re.IGNORECASE
)

SETTINGS = {
    section.name: {key.name for key in fields(getattr(Settings(), section.name))}
    for section in fields(Settings)
}
FILE_ENDINGS = ("json", "jsonl", "sqlite", "py", "toml", "pac")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def prose(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def blocks(page, *languages):
    return [
        body for language, body in FENCE.findall(page.read_text(encoding="utf-8")) if language in languages
    ]


def anchors(page):
    """The names under which a page's headings can be linked to, as GitHub makes them."""
    titles = (re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(prose(page)))
    return {title.strip().replace(" ", "-") for title in titles}


def commands(page):
    """Every `linkmend ...` that a page tells the reader to run, as words: inline, in scripts and after a prompt."""
    lines = [code for code in INLINE.findall(prose(page)) if code.startswith("linkmend ")]
    lines += [line for body in blocks(page, "sh") for line in body.splitlines()]
    lines += [
        line[2:] for body in blocks(page, "console") for line in body.splitlines() if line.startswith("$ ")
    ]
    for line in lines:
        words = shlex.split(line)
        for place, word in enumerate(words[:-1]):
            # Paths end in /linkmend too, and "linkmend ready on" is what the program says.
            if Path(word).name == "linkmend" and re.fullmatch(r"(?!ready)[a-z0-9]+", words[place + 1]):
                yield line, words[place + 1 :]
                break


@pages
def test_every_relative_link_leads_to_a_file_and_a_heading(page):
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.is_relative_to(ROOT), target
        assert file.exists(), target
        assert not heading or heading in anchors(file), target


@pages
def test_every_command_and_option_exists(page):
    for line, words in commands(page):
        assert words[0] in COMMANDS, f"no such command: {line}"
        command, words = load_command(words[0]), words[1:]
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, f"no such command: {line}"
            command, words = command.commands[words[0]], words[1:]
        known = {option for parameter in command.params for option in parameter.opts}
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in known, f"no such option {word}: {line}"


@pages
def test_every_setting_exists(page):
    for code in INLINE.findall(prose(page)):
        named = re.fullmatch(r"([a-z]+)\.([a-z][a-z0-9_]*)", code)
        if named and named[1] in SETTINGS and named[2] not in FILE_ENDINGS:
            assert named[2] in SETTINGS[named[1]], f"no such setting: {code}"
    for section, key in ENVIRONMENT.findall(page.read_text(encoding="utf-8")):
        if (section, key) != ("SECTION", "KEY"):
            assert key.lower() in SETTINGS[section.lower()], f"no such setting: {section} {key}"


@pages
def test_every_example_of_settings_can_be_loaded(page, tmp_path):
    for number, body in enumerate(blocks(page, "toml")):
        file = tmp_path / f"example{number}.toml"
        file.write_text(body, encoding="utf-8")
        load(file, environment={})


@pages
def test_no_page_names_a_place_that_only_its_author_has(page):
    assert NOT_FOR_READERS.findall(page.read_text(encoding="utf-8")) == []


def test_every_path_of_the_code_that_the_developers_page_names_is_there():
    for code in INLINE.findall(prose(ROOT / "docs" / "developers.md")):
        if re.fullmatch(r"(?:proxy|repair|addons|tests|deploy|docs|\.ci)/[\w./]*", code):
            assert (ROOT / code).exists(), code


def test_the_cache_page_names_modules_that_are_there():
    rows = [line for line in prose(ROOT / "docs" / "cache.md").splitlines() if line.startswith("|")]
    for name in re.findall(r"`([\w/]+\.py)`", "\n".join(rows)):
        folder = ROOT if "/" in name else ROOT / "proxy" / "cache"
        assert (folder / name).exists(), name


def test_the_picture_of_the_readme_is_small_enough_for_a_slow_line():
    assert (ROOT / "docs" / "images" / "repair-page.png").stat().st_size < 150_000
