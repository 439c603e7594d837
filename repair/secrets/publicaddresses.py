"""Which addresses may leave the school: public, not personal, and without words that somebody typed (pure)."""

import re

from repair.secrets.addresses import has_secret
from repair.text import urls
from repair.text.publichosts import is_public_host

_MAX_URL = 2_000
_SEARCHED = re.compile(
    r"(?i)(?:^|[&;])(?:q|s|kw|wd|text|find|terms?|\w{0,20}query|\w{0,20}search\w{0,20}|\w{0,20}keywords?)="
)


def is_shareable(url: str) -> bool:
    """Whether an address may be sent to others, or fetched because of a reader: public, not personal, no search."""
    if len(url) > _MAX_URL or has_secret(url):
        return False
    try:
        parts = urls.parse(url)
    except ValueError:
        return False
    return is_public_host(parts.host) and not _SEARCHED.search(parts.query)
