"""The pages of the synthetic site: each contains its address, version, client and checksum, for verification."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import lru_cache

_MARK = b"\n<!--chaos "
_END = b"-->\n"
TOPICS = ("volcano", "glacier", "marmot", "comet", "orchid", "harbour", "lantern", "meadow")
PAGES = 120
SIZES = {"page": 3_000, "picture": 12_000, "large": 700_000, "own": 1_500, "lost": 600}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The label in a body. `who` is the client of a personal page, empty for a public one."""

    url: str
    version: int
    who: str
    size: int
    sha256: str


def word_of(url: str) -> str:
    """A word that only one page has, for searches."""
    return "w" + hashlib.sha256(url.encode()).hexdigest()[:10].translate(
        str.maketrans("0123456789", "ghijklmnop")
    )


@lru_cache(maxsize=120)
def lesson(url: str, version: int, who: str = "") -> bytes:
    """The page of an address; only version and client change it."""
    _, _, _, kind, number = url.split("/")
    topic = TOPICS[int(number) % len(TOPICS)]
    title = f"{topic.title()} {word_of(url)}, lesson {number}{f' of {who}' if who else ''}"
    links = "".join(
        f'<a href="/{kind}/{(int(number) + step) % PAGES}">more of {topic} {step}</a> ' for step in (1, 7)
    )
    lost = f'<a href="/lost/{number}">the {topic} that is gone</a>'
    head = f"<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><p>{links}{lost}</p>"
    sentence = f"<p>In version {version} we read about the {topic}, {who or 'all of us'}.</p>\n"
    text = (head + sentence * (SIZES[kind] // len(sentence) + 1)).encode()
    label = Label(url=url, version=version, who=who, size=len(text), sha256=hashlib.sha256(text).hexdigest())
    return text + _MARK + json.dumps(asdict(label)).encode() + _END


def label_of(body: bytes) -> Label | None:
    """The label of a complete body; None when it is damaged, changed or not from the site."""
    text, mark, rest = body.rpartition(_MARK)
    if not mark or not rest.endswith(_END):
        return None
    try:
        label = Label(**json.loads(rest.removesuffix(_END)))
    except (ValueError, TypeError):
        return None
    is_whole = label.size == len(text) and label.sha256 == hashlib.sha256(text).hexdigest()
    return label if is_whole else None
