"""Whether a URL carries a secret: a capability, a session, or a person's identity (pure).

Share links, password resets, invitations, signed downloads and private feeds need no login: whoever has the URL
has what it opens (W3C TAG, Good Practices for Capability URLs). Nothing marks them, so their look decides:

* a parameter or a part of the path whose name says so (`token=`, `/reset-password/...`),
* a mail address, a user name before the host, a JSON Web Token,
* a long piece that looks random (`repair.secrets.randomness`), and shorter ones where secrets usually are
  (`/s/`, `/invite/`, `key=`), unless it is known to be harmless: a version's hash in a file's name, a commit, a
  number, the identifier of an article.
"""

import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from repair.secrets.names import (
    ASSET_ENDINGS,
    CODE_NAMES,
    DIGEST_NAMES,
    DIGEST_PLACES,
    HARMLESS_NAMES,
    IDENTIFIER_PLACES,
    KEY_NAMES,
    PUBLIC_HOSTS,
    SECRET_BEGINNINGS,
    SECRET_ENDINGS,
    SECRET_NAMES,
    SECRET_PLACES,
    SERVICES,
    SHARE_PLACES,
    SHORT_LINK_PLACES,
)
from repair.secrets.randomness import most_random, random_run

MAX_URL = 4_000
"""Nobody shares longer URLs, and parsing them costs time."""

_SERVICE_HOSTS = tuple({host for host, _ in SERVICES})
_MAX_NAME = 64
_MAX_PIECES = 200
# In bits, see `repair.secrets.randomness`: the threshold anywhere, where links are shared, and where secrets are
# expected.
_ANYWHERE, _WHERE_SHARED, _WHERE_SECRET = 15.0, 10.0, 4.0
_LETTERS_ONLY = 20.0
"""Foreign names have unusual letter pairs too; a token of letters alone is rare, and long."""
_MIN_RUN = 10
_UUID = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Advisories, and the anchors within pages of Doxygen and Google Docs.
_KNOWN_IDENTIFIER = re.compile(
    r"GHSA(?:-\w{4}){3}|xn--.+|B0[0-9A-Z]{8}|(?:_1)?g?a[0-9a-f]{32,33}|h\.[a-z0-9]{10,14}"
)
_HEX = re.compile(r"(?i)[0-9a-f]+")
_COMMIT = 40
_SHORT_HASH, _SHORT_HEX = 12, 16
"""Hashes of versions and short identifiers; a secret of so few digits is found where secrets are expected."""
# Anchored at the beginning of a word: tried at every place of a long run, it would take quadratic time.
_JSON_WEB_TOKEN = re.compile(r"(?<![\w\-])eyJ[\w\-]{8,}\.[\w\-]{8,}")
_SESSION_IN_PATH = re.compile(r"(?i)[;/(](?:jsessionid|phpsessid|sessionid|sid|s)[=(][^/;]{8,}")
_MAIL = re.compile(r"(?<![\w.+\-@])[\w.+\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w.\-])")
# In a query an @ between two words is a person at some place: `for=name@school`.
_MAIL_IN_VALUE = re.compile(r"(?<![\w.+\-@/])[\w.+\-]{1,64}@[^\W\d][\w.\-]{1,100}")
_FILE_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,8})$")
_GITWEB = re.compile(r"(?:^|[;&])a=(?:blob|commit|commitdiff|log|patch|shortlog|snapshot|summary|tag|tree)\b")
_WITHIN = re.compile(r"[?&;#]")
_BLOCK = re.compile(r"[A-Za-z0-9]+")
_WORD_SIGNS = re.compile(r"[_.\-\s]+")
_SLUG = re.compile(r"(?:[^\W\d_]{2,}[-_]){2,}", re.UNICODE)
_GROUPED = re.compile(r"[a-z0-9]{3,5}(?:-[a-z0-9]{3,5}){2,4}")


@lru_cache(maxsize=4096)
def has_secret(url: str) -> bool:
    """Whether a URL carries a secret; one that cannot be parsed counts as such."""
    if len(url) > MAX_URL:
        return True
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return True
    if "@" in parts.netloc or _JSON_WEB_TOKEN.search(_percent_decode(url)):
        return True
    return (
        _is_service(host, parts.path)
        or _path_has_secret(parts.path, host)
        or _query_has_secret(parts.query, host, parts.path)
        or _fragment_has_secret(parts.fragment, host)
    )


def without_secret(url: str) -> str:
    """The URL as a log may keep it; "" when it cannot be parsed.

    One that carries a secret loses its query, fragment and user, and its path as well where the secret is there.
    """
    if not has_secret(url):
        return url
    try:
        parts = urlsplit(url[:MAX_URL])
    except ValueError:
        return ""
    site = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    kept = site + parts.path.partition(";")[0]
    return f"{site}/" if has_secret(kept) else kept


def _is_service(host: str, path: str) -> bool:
    """Whether the URL belongs to a service that hands out links."""
    if not host.endswith(_SERVICE_HOSTS):
        return False
    for suffix, pattern in SERVICES:
        if (host == suffix or host.endswith("." + suffix)) and pattern.match(path):
            return True
    return False


def _path_has_secret(path: str, host: str) -> bool:
    if _SESSION_IN_PATH.search(_percent_decode(path)) or _MAIL.search(_percent_decode(path)):
        return True
    if _is_public(host):
        return False
    segments = [_percent_decode(segment) for segment in path.split("/") if segment]
    if len(segments) > _MAX_PIECES:
        return True
    before: tuple[str, ...] = ()
    for number, segment in enumerate(segments):
        piece, *matrix = _WITHIN.split(segment)
        if any(_pair_has_secret(*pair.partition("=")[::2]) for pair in matrix):
            return True
        if _segment_is_secret(piece, before, is_last=number == len(segments) - 1):
            return True
        before = (_word(piece), *before)
    return False


def _segment_is_secret(segment: str, before: tuple[str, ...], *, is_last: bool) -> bool:
    """Whether one part of a path is a secret; `before` are the words of the parts before it, the nearest first."""
    ending = _FILE_ENDING.search(segment) if is_last else None
    if ending and ending[1].lower() in ASSET_ENDINGS:
        return False  # pictures, styles and scripts carry the hash of their version
    piece = segment[: ending.start()] if ending else segment
    nearest = next((word for word in before if not word.isdigit()), "")
    if any(word in SECRET_PLACES for word in (nearest, *before[:2])) and _is_code(piece):
        return True
    if nearest in SHARE_PLACES and (_looks_random(piece, _WHERE_SHARED, 8) or _is_spoken_code(piece)):
        return True
    if nearest in SHORT_LINK_PLACES and piece.isalnum() and _is_code(piece):
        return True
    if _UUID.fullmatch(piece) and nearest in SHARE_PLACES and nearest not in IDENTIFIER_PLACES:
        return True
    if len(piece) == _COMMIT and _HEX.fullmatch(piece) and not is_last:
        return False  # the files of a commit
    return _is_random_anywhere(piece, nearest, before)


def _is_random_anywhere(piece: str, nearest: str, before: tuple[str, ...] = ()) -> bool:
    uuid = _UUID.search(piece)
    if uuid and most_random(piece[: uuid.start()] + piece[uuid.end() :]).bits < _ANYWHERE:
        has_title = _SLUG.search(piece[: uuid.start()]) or any(_is_title(word) for word in before)
        return not (nearest in IDENTIFIER_PLACES or nearest in DIGEST_PLACES or has_title)
    run = most_random(piece)
    whole = _block_around(piece, run.start, run.end)
    if (
        _KNOWN_IDENTIFIER.fullmatch(piece)
        or not _looks_random(piece, _ANYWHERE, _MIN_RUN)
        or len(whole) < _MIN_RUN
    ):
        return False
    if _HEX.fullmatch(whole):
        if len(whole) <= _SHORT_HEX or nearest in DIGEST_PLACES or nearest in IDENTIFIER_PLACES:
            return False
        # `some-title-3f9a1c2b4d5e6f70`: the title carries the meaning, the digits only make it unique.
        return not _SLUG.search(piece[: piece.index(whole)])
    return True


def _block_around(piece: str, start: int, end: int) -> str:
    """The letters and digits between two signs around a run; the run itself when it contains signs."""
    for found in _BLOCK.finditer(piece):
        if found.start() <= start and end <= found.end():
            return found[0]
    return piece[start:end]


def _query_has_secret(query: str, host: str, path: str) -> bool:
    if not query:
        return False
    pairs = re.split("[&;]", query)
    if len(pairs) > _MAX_PIECES:
        return True
    expires = any(pair.lower().startswith(("expires=", "exp=", "e=", "se=")) for pair in pairs)
    ending = _FILE_ENDING.search(path)
    is_asset = ending is not None and ending[1].lower() in ASSET_ENDINGS
    is_for_digests = (
        is_asset
        or _GITWEB.search(query) is not None
        or any(_word(unquote(each)) in DIGEST_PLACES for each in path.split("/")[-3:])
    )
    return any(
        _pair_has_secret(
            *pair.partition("=")[::2],
            is_public=_is_public(host),
            expires=expires,
            is_for_digests=is_for_digests,
            place=path,
        )
        for pair in pairs
    )


def _pair_has_secret(
    name: str,
    value: str,
    *,
    is_public: bool = False,
    expires: bool = False,
    is_for_digests: bool = False,
    place: str = "",
) -> bool:
    """Whether one parameter is a secret: by its name, or by its value."""
    name, value = _percent_decode(name).strip().lower(), _percent_decode(value).strip()
    value, name = (value, name[:_MAX_NAME]) if value else (name, "")
    if not value:
        return False
    if name and (_is_secret_name(name) or _names_secret_within(value)):
        return True
    if _MAIL_IN_VALUE.search(value):
        return True
    whole = _WORD_SIGNS.sub("", name)
    if is_public or whole in HARMLESS_NAMES or whole.startswith("utm"):
        return False
    if whole in DIGEST_NAMES and not expires and (_HEX.fullmatch(value) or len(value) <= 12):
        return False
    if is_for_digests and _HEX.fullmatch(value):
        return False
    if whole in CODE_NAMES and _looks_random(value, _WHERE_SHARED, 6):
        return True
    if (whole in KEY_NAMES or _leads_to_secret(place)) and _is_code(value):
        return True
    if "/" in value:  # a URL within a URL, or base64
        return any(_is_random_anywhere(piece, "") for piece in re.split(r"[/?&=:]", value))
    return _is_random_anywhere(value, whole if whole in DIGEST_PLACES else _word(place.rpartition("/")[2]))


def _names_secret_within(value: str) -> bool:
    """Whether a URL within a URL has a parameter whose name marks a secret."""
    pairs = (pair.partition("=") for pair in _WITHIN.split(value)[1:_MAX_PIECES])
    return any(text and _is_secret_name(name.strip().lower()[:_MAX_NAME]) for name, _, text in pairs)


def _fragment_has_secret(fragment: str, host: str) -> bool:
    """A fragment is not sent, but anyone who has the whole URL may record it; keys often occur there."""
    if not fragment or _is_public(host):
        return False
    text = fragment.partition(":~:")[0]  # a text fragment only gives a place on the page
    if "=" in text:
        return _query_has_secret(text.rpartition("?")[2], host, "")
    return _path_has_secret(text if text.startswith("/") else f"/{text}", host)


def _leads_to_secret(path: str) -> bool:
    words = [_word(_percent_decode(segment)) for segment in path.split("/")[-3:] if segment]
    return any(word in SECRET_PLACES for word in words)


def _is_secret_name(name: str) -> bool:
    whole = _WORD_SIGNS.sub("", re.sub(r"[\[\]:]", "-", name))
    last = re.split(r"[_.\-\[\]:]", name.rstrip("]"))[-1]
    return (
        whole in SECRET_NAMES
        or last in SECRET_NAMES
        or whole.endswith(SECRET_ENDINGS)
        or whole.startswith(SECRET_BEGINNINGS)
    )


def _looks_random(piece: str, bits: float, length: int) -> bool:
    run = most_random(piece)
    if run.bits < bits or len(piece) < length:
        return False
    if (run.end - run.start) * 2 < len(piece) and bits < _ANYWHERE and _WORD_SIGNS.search(piece):
        return False  # one or two odd words among others
    around = _block_around(piece, run.start, run.end)
    if around.isalpha():
        enough = _LETTERS_ONLY if bits >= _ANYWHERE else bits + 5
        # Abbreviations occur in names: RTCDTMFSender.
        return not piece[run.start : run.end].isupper() and run.bits >= max(enough, 0.9 * len(around))
    return not _HEX.fullmatch(around) or len(around) > _SHORT_HASH or bits < _WHERE_SHARED


def _is_code(piece: str) -> bool:
    """Anything but words and numbers, where a secret is expected: `a1b2c3`, but not `chapter2` nor `2024-report`."""
    if len(piece) < 6 or " " in piece:
        return False
    changes = len(re.findall(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])", piece))
    return changes >= 2 or _looks_random(piece, _WHERE_SECRET, 6) or (len(piece) >= 20 and piece.isdigit())


def _is_spoken_code(piece: str) -> bool:
    """Groups of letters and digits made to be read aloud that are no words: `abc-defg-hij`."""
    return bool(_GROUPED.fullmatch(piece)) and sum(random_run(each).bits for each in piece.split("-")) > 8.0


def _is_title(word: str) -> bool:
    return _SLUG.search(word) is not None


def _is_public(host: str) -> bool:
    return host.endswith(PUBLIC_HOSTS) and any(
        host == known or host.endswith("." + known) for known in PUBLIC_HOSTS
    )


def _word(segment: str) -> str:
    """A part of a path as the lists of `repair.secrets.names` write it."""
    return segment.lower().removesuffix(".php").removesuffix(".html").removesuffix(".aspx")[:_MAX_NAME]


def _percent_decode(text: str) -> str:
    """Percent-decode twice: URLs within URLs are encoded twice."""
    return unquote(unquote(text)) if "%" in text else text
