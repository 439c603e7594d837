"""Whether words that seem to say "missing" can be trusted, or the page is a shell that scripts fill (pure).

Single-page applications, games, viewers and test pages come as a title, perhaps a heading, and an empty element that
a script fills. "Lost and found" may be all the text in the HTML of a school's office. So the words of a shell never
make it a missing page. Nor does it matter that the site sends the same text for another address: an application sends
one shell for all its addresses.

The words count when the HTML itself says that the page is missing, beyond repeating its title:

    always                       a notice ("404", "Page not found") or a sentence that is neither title nor heading
    without an empty element     also a heading that says it in other words than the title, which says it too;
                                 a notice that is a whole title, line or piece of a heading; a page with enough
                                 other text; a page whose markup is marked as an error page (marks.py)

Otherwise a page that runs scripts or embeds other addresses is a shell, and any other page is in doubt.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice

from selectolax.lexbor import LexborNode

from repair.parse import htmlpage
from repair.soft404.pageparts import PageParts
from repair.soft404.phrases import Row
from repair.soft404.signals import MissingClaim, PageSignals, is_notice
from repair.text.words import tokens


def _word_set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_MAX_NODES = 3_000
_MAX_INNER = 20
_MAX_HEADINGS = 8
_MAX_HIDDEN = 10
_MAX_PIECE = 500
_MAX_TEXT = 2_000
_MAX_SCRIPT = 5_000
_MAX_DEPTH = 30
_SENTENCE = range(4, 17)
"""How many words a sentence that says it has; longer ones are about something else."""
_WRITTEN = 100
_HIDDEN = re.compile(r"(?i)(?:display\s*:\s*none|visibility\s*:\s*hidden)")
_HIDDEN_CLASSES = frozenset(("hidden", "hide", "d-none", "is-hidden", "invisible", "ng-hide", "display-none"))
_DATA = re.compile(r"(?i)json|templ|tmpl|importmap|speculationrules|mustache|handlebars|text/html")
"""Types of script elements that only contain data."""
_HEADINGS = frozenset(("h1", "h2", "h3"))
_ELSEWHERE = frozenset(("iframe", "frame", "canvas", "object", "embed"))
_UNSEEN = frozenset(("script", "style", "noscript", "template"))
_PLACES = frozenset(("div", "section", "ul", "ol", "table", "tbody", "pre", "p"))
_ASIDE = frozenset(("nav", "header", "footer", "aside", "form", "button", "a", "svg", "label"))
_OWN_PLACES = frozenset(("body", "main", "article"))
"""Elements for the page's own content, whatever their names."""
_SEEN = frozenset(
    ("img", "svg", "picture", "video", "audio", "input", "button", "textarea", "select", "hr", "a", "form")
)
_SPINNERS = frozenset(("img", "svg", "picture"))
_MOUNTS = _word_set(
    "root app application approot appcontainer appmount main content page mount outlet view reactroot reactapp "
    "vueapp next nuxt layout gatsby ember emberapp flutter svelte sapper elm blazor"
)
"""Names of elements that applications fill, without dashes and underscores."""
_MOUNT_ATTRIBUTES = frozenset(
    ("ng-app", "ng-view", "ui-view", "v-cloak", "data-reactroot", "data-v-app", "x-data")
)
_HARMLESS = re.compile(
    r"(?i)nav|menu|head|foot|side|search|\bads?\b|ad[-_]|banner|cookie|consent|gdpr|modal|popup|dialog|overlay|backdrop"
    r"|toast|notif|alert|announce|live|load|spinner|splash|status|progress|divider|spac|clear|line|translate|count"
    r"|analytics|pixel|track|fb-root|share|social|comment|disqus|particle|star|snow|bg|background|scroll|top|bottom"
    r"|theme|dark|light|switch|toggle|btn|button|lang|locale|widget|chat|captcha|cursor|trail|tooltip|skip|bar|blind"
    r"|lottie|meting|wave|cloud|moon|planet|shadow|icon|logo|ima?ge?"
)
"""Names of empty elements that are not for content: decoration, menus, notices, advertisements."""
_WAITING = frozenset(
    tokens(
        "loading please wait a moment initializing starting you need to enable javascript to run this app "
        "laden lädt wird geladen bitte warten chargement en cours cargando espere por favor carregando aguarde "
        "caricamento attendere ładowanie загрузка подождите завантаження yükleniyor lütfen bekleyin memuat tunggu "
        "جار التحميل लोड हो रहा है 加载中 加載中 请稍候 読み込み中 로딩 중 đang tải inapakia"
    )
)


class WordTrust(Enum):
    """Whether the words that seem to say "missing" can be trusted."""

    COUNT = "count"
    DOUBTFUL = "doubtful"
    SHELL = "shell"
    """They cannot: scripts, or another address, provide the text."""


def weigh_words(html: str, parts: PageParts, found: PageSignals) -> WordTrust:
    """Decide whether the words that seem to say "missing" can be trusted."""
    nodes = _nodes(html)
    if _is_said(nodes, parts, found):
        return WordTrust.COUNT
    return WordTrust.SHELL if any(map(_brings_content, nodes)) else WordTrust.DOUBTFUL


def has_empty_place(html: str) -> bool:
    """Whether scripts fill an empty element, so that many pages may have the same text."""
    nodes = _nodes(html)
    return any(map(_brings_content, nodes)) and any(map(_is_empty_place, nodes))


def _is_said(nodes: Sequence[LexborNode], parts: PageParts, found: PageSignals) -> bool:
    unshown = islice(filter(_is_hidden, nodes), _MAX_HIDDEN)
    hidden = frozenset(word for node in unshown for word in tokens(_text(node)))
    claims = [claim for claim in found.claims if not hidden.issuperset(claim.words)]
    known = _WAITING.union(found.title_words)
    own = [claim for claim in claims if not known.issuperset(claim.words)]
    headings = known.union(found.heading_words)
    if any(is_notice(claim.words) or _is_sentence(claim, headings) for claim in own):
        return True
    if any(map(_brings_content, nodes)):
        if any(map(_is_empty_place, nodes)):
            return False
        if _is_written(parts, known) and not any(_may_be_filled(node, known) for node in nodes):
            return True
    if found.is_marked or (found.title_tells and any(headings.issuperset(claim.words) for claim in own)):
        return True
    silent = hidden.union(known)
    if any(is_notice(piece) and not silent.issuperset(piece) for piece in _heading_pieces(nodes)):
        return True
    return is_notice(found.title_words) or any(is_notice(claim.words) for claim in claims)


def _is_sentence(claim: MissingClaim, headings: frozenset[str]) -> bool:
    return claim.says and len(claim.words) in _SENTENCE and not headings.issuperset(claim.words)


def _heading_pieces(nodes: Iterable[LexborNode]) -> Iterator[Row]:
    """The separate texts within headings: "404 <br> nothing here", "404 Not found <small>Oh dear</small>"."""
    for heading in islice((node for node in nodes if node.tag in _HEADINGS), _MAX_HEADINGS):
        for inner in islice(heading.traverse(include_text=True), _MAX_INNER):
            if inner.tag == "-text" and (piece := tuple(tokens((inner.text_content or "")[:_MAX_PIECE]))):
                yield piece


def _nodes(html: str) -> list[LexborNode]:
    """The first elements, without those inside elements that a browser with scripts does not show."""
    root = htmlpage.tree(html).root
    if root is None:
        return []
    every = islice(root.traverse(include_text=False), _MAX_NODES)
    return [node for node in every if node.parent is None or node.parent.tag not in _UNSEEN]


def _brings_content(node: LexborNode) -> bool:
    """Whether the element runs a script or embeds another address."""
    tag = node.tag
    if tag == "script":
        return not _DATA.search(node.attributes.get("type") or "")
    if tag == "meta":
        return (node.attributes.get("http-equiv") or "").lower() == "refresh"
    return tag in _ELSEWHERE


def _is_written(parts: PageParts, known: frozenset[str]) -> bool:
    """Whether there is enough static text besides the title, menus included, for a whole page."""
    texts = (block.text for block in parts.blocks)
    return sum(len(text) for text in texts if not known.issuperset(tokens(text))) >= _WRITTEN


def _may_be_filled(node: LexborNode, known: frozenset[str]) -> bool:
    """Whether a script might fill the element: it is empty, or a main element with only `known` words."""
    tag = node.tag or ""
    if tag == "script":
        return "document.write" in (node.text() or "")[:_MAX_SCRIPT]
    if tag in ("main", "article"):
        return _is_empty(node, known=known)
    if tag not in _PLACES or tag == "p":
        return False
    return _is_empty(node) and not _is_aside(node)


def _is_aside(node: LexborNode) -> bool:
    """Whether the element is in a menu, a footer or the like, or has a name that is not for content."""
    around: LexborNode | None = node
    for _ in range(_MAX_DEPTH):
        if around is None or around.tag == "body":
            break
        if around.tag in _ASIDE or _HARMLESS.search(_names(around)):
            return True
        around = around.parent
    return False


def _names(node: LexborNode) -> str:
    return f"{node.attributes.get('id') or ''} {node.attributes.get('class') or ''}"


def _is_hidden(node: LexborNode) -> bool:
    """Whether the element is hidden until a script shows it: many applications hide their error message so."""
    attributes = node.attributes
    if "hidden" in attributes or _HIDDEN.search(attributes.get("style") or ""):
        return True
    return not _HIDDEN_CLASSES.isdisjoint((attributes.get("class") or "").lower().split())


def _text(node: LexborNode) -> str:
    return node.text(separator=" ")[:_MAX_TEXT]


def _is_empty_place(node: LexborNode) -> bool:
    """Whether the element is empty and meant for a script to fill."""
    tag = node.tag or ""
    if tag in _OWN_PLACES or "-" in tag[1:]:
        return not _HARMLESS.search(tag) and _is_empty(node)
    if tag not in _PLACES:
        return False
    attributes = node.attributes
    name = attributes.get("id") or ""
    names = (name, *(attributes.get("class") or "").split())
    if any(_plain(each) in _MOUNTS for each in names) or not _MOUNT_ATTRIBUTES.isdisjoint(attributes):
        return _is_empty(node, beside=_SPINNERS)
    return bool(name) and not any(map(_HARMLESS.search, names)) and _is_empty(node)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _is_empty(
    node: LexborNode, *, beside: frozenset[str] = frozenset(), known: frozenset[str] = _WAITING
) -> bool:
    """Whether an element shows nothing but `known` words and elements of the tags in `beside`."""
    for number, inner in enumerate(node.traverse(include_text=True)):
        if number > _MAX_INNER or (inner.tag in _SEEN and inner.tag not in beside):
            return False
        if inner.tag == "-text" and (inner.parent is None or inner.parent.tag not in _UNSEEN):
            text = inner.text_content or ""
            if len(text.strip()) > _MAX_PIECE or not known.issuperset(tokens(text)):
                return False
    return True
