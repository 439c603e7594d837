"""What was read from a file, as it comes from the helper process; and a builder that keeps it within limits."""

from msgspec import Struct

MAX_TEXT = 200_000
"""Characters of text kept of a file, as of a page."""
MAX_LINKS = 2_000
MAX_HEADINGS = 64
MAX_FIELD = 2_000
"""Characters of a title, a heading, an anchor or the text beside a link, before they are tidied up."""
MAX_URL = 8_000


class Unreadable(Exception):
    """The file cannot be read; the message says why in a few words."""


class ExtractedLink(Struct, frozen=True, array_like=True):
    """A link with its words and some text on each side."""

    url: str
    anchor: str = ""
    before: str = ""
    after: str = ""


class Extraction(Struct, frozen=True, array_like=True, tag="file"):
    """The content of a file. Nothing is tidied up: whoever reads this does not trust it."""

    text: str
    title: str = ""
    headings: tuple[str, ...] = ()
    description: str = ""
    keywords: str = ""
    language: str = ""
    links: tuple[ExtractedLink, ...] = ()


class Refusal(Struct, frozen=True, array_like=True, tag="refusal"):
    """Why there is no content; `is_last` when the helper ends after this."""

    reason: str
    is_last: bool = False


class TextBuilder:
    """Collects paragraphs, headings and links of a file in reading order, up to the limits."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0
        self._headings: list[str] = []
        self._links: list[tuple[str, int, int]] = []
        self._open_link: tuple[str, int] | None = None
        self._heading_at: int | None = None

    @property
    def is_full(self) -> bool:
        return self._size >= MAX_TEXT

    def add(self, text: str) -> None:
        """Add running text; what is over the limit is dropped."""
        kept = text[: MAX_TEXT - self._size]
        if kept:
            self._pieces.append(kept)
            self._size += len(kept)

    def start_heading(self) -> None:
        self._heading_at = self._size

    def end_paragraph(self) -> None:
        """End a line, and the heading that it was."""
        if self._heading_at is not None and len(self._headings) < MAX_HEADINGS:
            heading = self.text()[self._heading_at :].strip()[:MAX_FIELD]
            self._headings += [heading] if heading else []
        self._heading_at = None
        self.add("\n")

    def start_link(self, url: str) -> None:
        self._open_link = (url, self._size) if 0 < len(url) <= MAX_URL else None

    def end_link(self) -> None:
        if self._open_link is not None and len(self._links) < MAX_LINKS:
            self._links.append((*self._open_link, self._size))
        self._open_link = None

    def text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def headings(self) -> tuple[str, ...]:
        return tuple(self._headings)

    def links(self) -> tuple[ExtractedLink, ...]:
        text = self.text()
        return tuple(link_within(text, url, start, end) for url, start, end in self._links)


def link_within(text: str, url: str, start: int, end: int) -> ExtractedLink:
    """A link whose words are at a place in a text."""
    side = 600  # characters: twenty words, whatever the script
    return ExtractedLink(
        url=url,
        anchor=text[start : min(end, start + MAX_FIELD)],
        before=text[max(0, start - side) : start],
        after=text[end : end + side],
    )
