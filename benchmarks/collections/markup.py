"""From the source of a page, as site generators read it, to its front matter and its HTML.

Templates are not run. Those that stand for a link or for words are replaced by them; the rest is left out.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from html import escape, unescape
from typing import Any

import yaml
from markdown_it import MarkdownIt

_FRONT_MATTER = re.compile(r"\s*(---|\+\+\+)[ \t]*\r?\n(.*?)\r?\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


class Templates(StrEnum):
    """The language in which a site's pages call their generator."""

    NONE = ""
    LIQUID = "liquid"
    HUGO = "hugo"
    MDN = "mdn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page as its generator sees it: what it declares, and its body as HTML."""

    declared: Mapping[str, Any]
    title: str
    body: str


def read_source(text: str, *, is_markdown: bool, templates: Templates, language: str) -> Source:
    """Split a file into what it declares and its body, and render the body."""
    declared, text = _split(text)
    text = _REPLACE[templates](text, language)
    body = _markdown().render(text) if is_markdown else text
    heading = _HEADING.search(body)
    title = str(declared.get("title") or (heading and unescape(_TAG.sub("", heading[1]))) or "")
    return Source(declared=declared, title=title.strip(), body=body)


def whole_page(source: Source, language: str) -> str:
    """The HTML of the page, with its title above the body where the body does not begin with it."""
    heading = "" if "<h1" in source.body else f"<h1>{escape(source.title)}</h1>"
    return (
        f'<!doctype html><html lang="{escape(language)}"><title>{escape(source.title)}</title>'
        f"<body><main>{heading}{source.body}</main></body></html>"
    )


def _split(text: str) -> tuple[dict[str, Any], str]:
    found = _FRONT_MATTER.match(text.removeprefix("\ufeff"))
    if not found:
        return {}, text
    try:
        declared = tomllib.loads(found[2]) if found[1] == "+++" else yaml.safe_load(found[2])
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError):
        declared = None
    return (declared if isinstance(declared, dict) else {}), text.removeprefix("\ufeff")[found.end() :]


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable("table")


_LIQUID = re.compile(r"\{%-?.*?-?%\}|\{\{.*?\}\}|\{:[^}\n]*\}", re.DOTALL)


def _liquid(text: str, language: str) -> str:
    # Addresses are written `{{ site.url }}/path` or plainly; what a page computes otherwise cannot be known.
    return _LIQUID.sub("", text)


_SHORTCODE = re.compile(r"\{\{[<%](.*?)[>%]\}\}", re.DOTALL)
_WORDS = re.compile(r"(?:text|title)=\"([^\"]*)\"")
_REFERENCE = re.compile(r"\s*(?:rel)?ref\s+\"([^\"]*)\"")
_HEADING_ID = re.compile(r"(?m)^(#+ .*?)[ \t]*\{#[^}]*\}[ \t]*$")


def _hugo(text: str, language: str) -> str:
    def words(found: re.Match[str]) -> str:
        if reference := _REFERENCE.match(found[1]):
            return reference[1]
        said = _WORDS.search(found[1])
        return said[1] if said else ""

    return _HEADING_ID.sub(r"\1", _SHORTCODE.sub(words, text))


_MACRO = re.compile(r"\{\{\s*([A-Za-z_-]+)\s*(?:\((.*?)\))?\s*\}\}", re.DOTALL)
_ARGUMENT = re.compile(r"\"([^\"]*)\"|'([^']*)'")
# Where the macros of MDN's writers lead to, beneath /LANGUAGE/docs/.
_MACRO_FOLDERS = {
    "domxref": "Web/API/",
    "jsxref": "Web/JavaScript/Reference/Global_Objects/",
    "cssxref": "Web/CSS/",
    "htmlelement": "Web/HTML/Element/",
    "svgelement": "Web/SVG/Element/",
    "httpheader": "Web/HTTP/Headers/",
    "httpstatus": "Web/HTTP/Status/",
    "httpmethod": "Web/HTTP/Methods/",
    "glossary": "Glossary/",
}


def _mdn(text: str, language: str) -> str:
    def link(found: re.Match[str]) -> str:
        arguments = [first or second for first, second in _ARGUMENT.findall(found[2] or "")]
        folder = _MACRO_FOLDERS.get(found[1].lower())
        if folder is None or not arguments or not arguments[0]:
            return ""
        name = arguments[0].removesuffix("()").strip().replace(" ", "_")
        if folder in ("Web/API/", "Web/JavaScript/Reference/Global_Objects/"):
            name = name.replace(".prototype.", ".").replace(".", "/")
        shown = next((word for word in arguments[1:2] if word), arguments[0])
        return f'<a href="/{language}/docs/{escape(folder + name)}">{escape(shown)}</a>'

    return _MACRO.sub(link, text)


def _as_it_is(text: str, language: str) -> str:
    return _HEADING_ID.sub(r"\1", text)


_REPLACE: Mapping[Templates, Callable[[str, str], str]] = {
    Templates.NONE: _as_it_is,
    Templates.LIQUID: _liquid,
    Templates.HUGO: _hugo,
    Templates.MDN: _mdn,
}
