"""Makes the English text in templates of the desk translatable, so that the templates stay plain HTML.

A message is the text of an element with what belongs to the sentence: values become {placeholders}, links and other
inline elements <a>tags</a>. `{% %}` and all other elements end a message. `aria-label`, `title` and `placeholder` are
messages of their own. An element with `translate="no"`, and code, pre, textarea, script and style, are left alone.
Literals within expressions are marked by hand: `{{ _("Fetch now") if ... }}`.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from jinja2 import Environment
from jinja2.ext import Extension

from proxy.pages.desktexts import shown, tr, translated

_JINJA = r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}"
_TAG = rf"<(?:{_JINJA}|\"(?:{_JINJA}|[^\"])*\"|'[^']*'|[^<>\"'])*>"
_TOKEN = re.compile(rf"({_JINJA}|{_TAG})", re.DOTALL)
_NAME = re.compile(r"</?([a-zA-Z0-9]+)")
_INLINE = frozenset({"a", "b", "em", "strong", "bdi", "kbd", "time"})
_OPAQUE = frozenset({"code", "pre", "textarea", "script", "style", "title"})
_ATTRIBUTE = re.compile(rf"""(\s(?:aria-label|title|placeholder)=)"((?:{_JINJA}|[^"])*)\"""", re.DOTALL)
_MARKED = re.compile(r"""\b_\("((?:[^"\\]|\\.)*)\"""")
_VALUE = re.compile(r"\{\{-?(.*?)-?\}\}", re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]")
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")
_WORDS_OF_JINJA = frozenset({"if", "else", "and", "or", "not", "in", "is", "none"})


@dataclass(slots=True)
class _Message:
    """One message as it is put together: its text for translators, and the Jinja source of its values."""

    words: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def add_text(self, source: str) -> None:
        self.words.append(re.sub(r"\s+", " ", html.unescape(source)))

    def add_value(self, source: str) -> None:
        expression = _VALUE.fullmatch(source)
        known = expression[1].strip() if expression else source
        name = _free_name(_name_of(known), self.values)
        self.values[name] = known
        self.words.append(f"{{{name}}}")

    def add_whole(self, name: str, source: str) -> None:
        """An element that translators place, and do not look into."""
        name = _free_name(name, {**self.values, **self.tags})
        self.tags[name] = source
        self.words.append(f"{{{name}}}")

    def add_tag(self, name: str, source: str) -> None:
        self.tags[name] = source
        self.words.append(name)

    @property
    def text(self) -> str:
        return "".join(self.words).strip()

    def source(self, number: str) -> str:
        """The message as Jinja source. Tags are rendered first, since their attributes have values too."""
        made = "".join(
            f"{{% set _m{number}_{place} %}}{tag}{{% endset %}}"
            for place, tag in enumerate(self.tags.values())
        )
        pairs = [f"{_quoted(name)}: ({value})" for name, value in self.values.items()]
        pairs += [f"{_quoted(name)}: _m{number}_{place}" for place, name in enumerate(self.tags)]
        return f"{made}{{{{ _message({_quoted(self.text)}, {{{', '.join(pairs)}}}) }}}}"


def _quoted(known: str) -> str:
    return '"' + known.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _name_of(expression: str) -> str:
    """A word that tells translators what a value is: the last part of the first thing named in the expression."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", expression.partition("|")[0])
    names = [each for each in _DOTTED.findall(bare) if each not in _WORDS_OF_JINJA]
    called = re.match(r"\s*[\w.]+\(", bare)
    if called and len(names) > 1:
        names = names[1:]
    return names[0].rpartition(".")[2] if names else "value"


def _free_name(name: str, taken: dict[str, str]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _kind(token: str) -> str:
    if token.startswith(("{%", "{#")):
        return "block"
    if token.startswith("{{"):
        return "value"
    if token.startswith("<") and _TOKEN.fullmatch(token):
        name = _NAME.match(token)
        return "inline" if name and name[1] in _INLINE else "element"
    return "text"


def _tokens(source: str) -> Iterator[tuple[str, str]]:
    """Kind and source of each piece; opaque elements are one piece."""
    opaque, inside = "", ""
    for token in _TOKEN.split(source):
        if not token:
            continue
        if opaque:
            inside += token
            if token.startswith(f"</{opaque}"):
                yield "whole" if opaque == "code" else "element", inside
                opaque = ""
            continue
        name = _NAME.match(token) if token.startswith("<") else None
        closed = token.startswith("</")
        if name and not closed and (name[1] in _OPAQUE or 'translate="no"' in token) and _has_end(name[1]):
            opaque, inside = name[1], token
            continue
        yield _kind(token), token


def _has_end(name: str) -> bool:
    return name not in ("input", "link", "meta", "br", "img")


def _runs(source: str) -> Iterator[list[tuple[str, str]]]:
    """Pieces that belong to one message, or single pieces that are in none."""
    run: list[tuple[str, str]] = []
    for kind, token in _tokens(source):
        if kind in ("block", "element"):
            if run:
                yield run
            yield [(kind, token)]
            run = []
        else:
            run.append((kind, token))
    if run:
        yield run


def _has_words(run: list[tuple[str, str]]) -> bool:
    return any(kind == "text" and _LETTER.search(html.unescape(token)) for kind, token in run)


def _split(run: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """A run whose words are all inside inline elements is several messages, one for each element."""
    depth, outside = 0, False
    for kind, token in run:
        if kind == "inline":
            depth += -1 if token.startswith("</") else 1
        elif kind == "text" and depth == 0 and _LETTER.search(html.unescape(token)):
            outside = True
    if outside and depth == 0:
        yield run
        return
    piece: list[tuple[str, str]] = []
    for each in run:
        if each[0] == "inline":
            if piece:
                yield piece
            yield [each]
            piece = []
        else:
            piece.append(each)
    if piece:
        yield piece


def _message_of(run: list[tuple[str, str]]) -> _Message:
    made, counts, opened = _Message(), dict[str, int](), list[str]()
    for kind, token in run:
        if kind == "text":
            made.add_text(token)
        elif kind == "value":
            made.add_value(token)
        elif kind == "whole":
            made.add_whole("code", token)
        elif token.startswith("</"):
            name = opened.pop()
            made.add_tag(f"</{name}>", token)
        else:
            found = _NAME.match(token)
            name = found[1] if found else "a"
            counts[name] = counts.get(name, 0) + 1
            name += str(counts[name]) if counts[name] > 1 else ""
            opened.append(name)
            made.add_tag(f"<{name}>", token)
    return made


def _translate(source: str, found: list[str]) -> str:
    """The source with its messages replaced; `found` gets the messages."""
    out: list[str] = []
    for run in _runs(source):
        for piece in _split(run):
            if not _has_words(piece):
                out.extend(_with_attributes(token, kind, found) for kind, token in piece)
                continue
            made = _message_of([(kind, _with_attributes(token, kind, found)) for kind, token in piece])
            whole = "".join(token for _, token in piece)
            before = whole[: len(whole) - len(whole.lstrip())]
            after = whole[len(whole.rstrip()) :]
            found.append(made.text)
            out.append(f"{before}{made.source(str(len(found)))}{after}")
    return "".join(out)


def _with_attributes(token: str, kind: str, found: list[str]) -> str:
    if kind not in ("inline", "element") or not token.startswith("<") or 'translate="no"' in token:
        return token

    def replaced(match: re.Match[str]) -> str:
        pieces = [(_kind(each), each) for each in _TOKEN.split(match[2]) if each]
        if not _has_words(pieces) or any(kind == "block" for kind, _ in pieces):
            return match[0]
        made = _message_of(pieces)
        found.append(made.text)
        return f'{match[1]}"{made.source("")}"'

    return _ATTRIBUTE.sub(replaced, token)


def messages_of(source: str) -> list[str]:
    """The messages of a template, those marked by hand included."""
    found: list[str] = []
    _translate(source, found)
    return [*found, *(match.replace('\\"', '"') for match in _MARKED.findall(source))]


class TemplateTexts(Extension):
    """Translates the templates of the desk; those of other pages have texts of their own."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.globals.update(_=tr, _message=translated)
        environment.finalize = shown

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return _translate(source, []) if name is not None and name.startswith("desk/") else source
