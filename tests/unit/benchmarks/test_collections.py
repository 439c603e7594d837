"""A tiny site in a git repository becomes a collection folder that can be read, broken and measured."""

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.collections.__main__ import make
from benchmarks.collections.docbook import manual_pages
from benchmarks.collections.folder import FolderLimits, opaque_address
from benchmarks.collections.markup import Templates, read_source
from benchmarks.collections.sitepages import Site, route_address
from benchmarks.collections.sites import RECIPES, Recipe
from repair.parse.collectionfolder import collection_folder
from repair.parse.problems import ImportProblems
from repair.simulation.pseudobroken import BreakagePlan, Variant, cases

BASE = "https://school.example/"
SITE = Site(
    repository="school/site",
    base=BASE,
    routes=(
        (r"(?P<lang>[a-z]{2})/news/_posts/.+\.md", r"\1/news/{date:%Y/%m/%d}/{slug}/"),
        (r"(?P<lang>[a-z]{2})/(.+)\.md", r"\1/\2/"),
    ),
    templates=Templates.LIQUID,
    moved_since="2020-06-01",
)
RIVERS = "The river rises in the hills, runs past the mill and reaches the sea after forty miles of meadows."


def test_links_in_text_are_broken_and_menus_are_not(site: Path, tmp_path: Path) -> None:
    counts = make("tiny", Recipe(sites=(SITE,)), site, tmp_path / "tiny")
    broken = [*_lines(tmp_path, "train"), *_lines(tmp_path, "test")]
    assert {record["anchor"] for record in broken} == {
        f"the story of river {number}" for number in range(12)
    } | {"how water moves"}
    marks = {record["anchor"]: record["nav"] for record in _lines(tmp_path, "links")}
    assert marks["Home"]
    assert not marks["the story of river 3"]
    assert counts["pages"] == len(_lines(tmp_path, "pages")) == 15


def test_each_page_is_in_train_or_in_test(site: Path, tmp_path: Path) -> None:
    make("tiny", Recipe(sites=(SITE,)), site, tmp_path / "tiny")
    train, test = ({record["target_url"] for record in _lines(tmp_path, stem)} for stem in ("train", "test"))
    assert train
    assert test
    assert not train & test
    moved = json.loads((tmp_path / "tiny/moved_test.json").read_text())
    assert moved == {url: opaque_address(url) for url in test}


def test_a_site_that_judges_has_no_links_to_train_on(site: Path, tmp_path: Path) -> None:
    make("tiny", Recipe(sites=(SITE,), limits=FolderLimits(held_out=True)), site, tmp_path / "tiny")
    assert not list((tmp_path / "tiny").glob("*train*"))
    assert RECIPES["k8s"].limits.held_out


def test_links_that_lead_to_a_renamed_page_are_really_moved(site: Path, tmp_path: Path) -> None:
    make("tiny", Recipe(sites=(SITE,)), site, tmp_path / "tiny")
    really = [
        record
        for stem in ("really_moved", "really_moved_train")
        if (tmp_path / f"tiny/{stem}.jsonl.gz").exists()
        for record in _lines(tmp_path, stem)
    ]
    assert [(record["target_url"], record["truth"]) for record in really] == [
        (f"{BASE}en/hydrology/", f"{BASE}en/science/water/")
    ]
    assert really[0]["source_url_now"] == f"{BASE}en/start/"


def test_the_folder_reads_as_any_other(site: Path, tmp_path: Path) -> None:
    make("tiny", Recipe(sites=(SITE,)), site, tmp_path / "tiny")
    problems = ImportProblems()
    assert len(list(collection_folder(tmp_path / "tiny", problems))) == 15
    assert problems.count == 0
    found = cases(BreakagePlan(folder=tmp_path / "tiny", variant=Variant.MOVED, split="train"))
    assert all(case.truth == opaque_address(case.link.url) for case in found)
    languages = json.loads(gzip.decompress((tmp_path / "tiny/languages.json.gz").read_bytes()))
    assert languages[f"{BASE}de/fluss/"] == "de"


def test_the_same_repository_gives_the_same_bytes(site: Path, tmp_path: Path) -> None:
    for place in ("tiny", "again"):
        make("tiny", Recipe(sites=(SITE,)), site, tmp_path / place)
    for file in (tmp_path / "tiny").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@pytest.mark.parametrize(
    ("templates", "source", "body"),
    [
        (Templates.HUGO, '{{< glossary_tooltip text="Pods" term_id="pod" >}} run', "<p>Pods run</p>\n"),
        (Templates.HUGO, '[it]({{< ref "/docs/it" >}})', '<p><a href="/docs/it">it</a></p>\n'),
        (Templates.LIQUID, "{% include x %}[it]({{ site.url }}/it/)", '<p><a href="/it/">it</a></p>\n'),
        (
            Templates.MDN,
            'a {{domxref("Node.append", "append")}}',
            '<p>a <a href="/fr/docs/Web/API/Node/append">append</a></p>\n',
        ),
        (Templates.MDN, "{{Compat}}", ""),
    ],
)
def test_templates_become_the_words_and_links_they_stand_for(
    templates: Templates, source: str, body: str
) -> None:
    assert read_source(source, is_markdown=True, templates=templates, language="fr").body == body


def test_a_page_declares_its_own_address() -> None:
    rust = RECIPES["devblogs"].sites[1]
    declared = {"path": "2023/06/01/Rust-1.70.0"}
    assert route_address(rust, "content/Rust.md", declared) == (f"{rust.base}2023/06/01/Rust-1.70.0/", "en")
    assert route_address(rust, "content/Rust.md", {}) is None


def test_a_manual_in_docbook_links_functions_and_sections_by_name() -> None:
    files = [
        (
            "a.xml",
            b'<refentry xml:id="function.array-map"><refname>array_map</refname><para>See <function>usort</function>'
            b' and <xref linkend="sorting"/>. &note.sort;</para></refentry>',
        ),
        (
            "b.xml",
            b'<refentry xml:id="function.usort"><refname>usort</refname><para>Sorts.</para></refentry>',
        ),
        ("c.xml", b'<chapter xml:id="sorting"><title>Sorting arrays</title></chapter>'),
    ]
    page = dict(manual_pages(files, "en"))["function.array-map"]
    assert '<a href="function.usort.php">usort()</a>' in page
    assert '<a href="sorting.php">Sorting arrays</a>' in page
    assert "&" not in page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of git directories with one small site: an old state, and today's with one page renamed."""
    mirrors = tmp_path_factory.mktemp("mirrors")
    place = mirrors / "school+site"
    menu = "[Home](/en/start/)\n\n"
    stories = "\n".join(
        f"Read [the story of river {number}](/en/news/2020/01/{number + 1:02}/river-{number}/) and what it did.\n"
        for number in range(12)
    )
    pages = {
        "en/start.md": f"Welcome to our rivers and hills.\n\n{stories}\n\nAlso [how water moves](/en/hydrology/).",
        "en/hydrology.md": f"{menu}Water runs downhill, evaporates, and comes back as rain. {RIVERS}",
        "de/fluss.md": "Der Fluss entspringt in den Bergen und fließt an der alten Mühle vorbei ins Meer.",
    } | {
        f"en/news/_posts/2020-01-{number + 1:02}-river-{number}.md": f"{menu}{RIVERS} It has {number} bridges."
        for number in range(12)
    }
    for path, text in pages.items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\ntitle: About {file.stem}\n---\n{text}\n", "utf-8")
    _commit(place, "2020-02-01T00:00:00Z")
    (place / "en/science").mkdir()
    (place / "en/hydrology.md").rename(place / "en/science/water.md")
    start = place / "en/start.md"
    start.write_text(start.read_text("utf-8").replace("/en/hydrology/", "/en/science/water/"), "utf-8")
    _commit(place, "2022-02-01T00:00:00Z")
    return mirrors


def _commit(place: Path, when: str) -> None:
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A"), ("EMAIL", "a@school.example"), ("DATE", when))
    }
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "state")):
        subprocess.run(["git", "-C", str(place), *arguments], check=True, env={**os.environ, **who})


def _lines(tmp_path: Path, stem: str) -> list[dict[str, Any]]:
    with gzip.open(tmp_path / f"tiny/{stem}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
