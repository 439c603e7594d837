"""A search engine asked for pages to begin at: an OpenSearch template with RSS or Atom results, or SearXNG's JSON.

The admin chose it, so it may be anywhere; what it answers is as hostile as any site: bounded, timed out, and only
public web addresses are taken. An engine that fails, or asks us to wait, is not asked again by this object.
"""

import asyncio
import logging
import re
from urllib.parse import quote

import msgspec

from proxy.fetching.entries import NotQueuedError
from proxy.fetching.queue import queueable_url
from proxy.settings import SEARCH_TERMS
from repair.fetch import FetchError, FetchLimits, PageFetcher
from repair.model import Page
from repair.parse import decode
from repair.parse.sitelists import read_site_list
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

log = logging.getLogger(__name__)

_LIMITS = FetchLimits(max_bytes=2_000_000, timeout_s=20.0)
_MAX_UNPACKED = 8_000_000
_MAX_RESULTS = 30
_MAX_WORDS = 200
_ACCEPT = "application/json, application/rss+xml, application/atom+xml;q=0.9, application/xml;q=0.8"
_FEEDS = ("rss", "RDF", "feed")
_OTHER_FIELDS = re.compile(r"\{[\w:]+\??\}")


class _JsonResult(msgspec.Struct):
    url: str = ""


class _JsonResults(msgspec.Struct):
    results: list[_JsonResult]


class SearchEngine:
    """One engine. For one event loop."""

    def __init__(self, template: str, client: PageFetcher) -> None:
        self._template = template
        self._client = client
        self._failed = False

    @staticmethod
    def place(template: str) -> tuple[str, int]:
        """The host and port of an engine, for the guard of the client."""
        return urls.host_and_port(template.partition("{")[0])

    async def find(self, words: str) -> tuple[str, ...]:
        """Addresses of pages about words, best first; none when the engine does not answer."""
        if self._failed or not words.strip():
            return ()
        headers = {"Accept": _ACCEPT, "Accept-Encoding": "gzip"}
        try:
            page = await self._client.get(
                fill_template(self._template, words), limits=_LIMITS, headers=headers
            )
            if page.status != 200:
                raise FetchError(f"status {page.status}")
            return await asyncio.to_thread(read_results, page)
        except FetchError as error:
            self._failed = True
            log.warning("search engine: %s", error)
            return ()

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()


def fill_template(template: str, words: str) -> str:
    """The address to request; fields of OpenSearch other than the words are left out.

    >>> fill_template("https://s.example/?q={searchTerms}&p={startPage?}", "lava & ash")
    'https://s.example/?q=lava%20%26%20ash&p='
    """
    bare = _OTHER_FIELDS.sub(lambda found: found[0] if found[0] == SEARCH_TERMS else "", template)
    return bare.replace(SEARCH_TERMS, quote(words[:_MAX_WORDS].encode("utf-8", "replace"), safe=""))


def read_results(page: Page) -> tuple[str, ...]:
    """The addresses in an answer, in their order. Raises FetchError for one that cannot be read."""
    body = decode.identity_body(page, _MAX_UNPACKED)
    if body is None:
        raise FetchError("the answer cannot be decompressed, or is too large")
    found = _from_json(body) if body.lstrip()[:1] == b"{" else _from_xml(body, page.url)
    return tuple(dict.fromkeys(filter(None, map(_public_page, found))))[:_MAX_RESULTS]


def _from_json(body: bytes) -> list[str]:
    try:
        return [result.url for result in msgspec.json.decode(body, type=_JsonResults).results]
    except (msgspec.DecodeError, RecursionError) as error:
        raise FetchError(f"the answer is not SearXNG's JSON: {error}") from error


def _from_xml(body: bytes, url: str) -> list[str]:
    found = read_site_list(body, url, elsewhere=True)
    if found.root not in _FEEDS:
        raise FetchError("the answer is neither JSON nor RSS nor Atom")
    return [entry.url for entry in found.pages]


def _public_page(url: str) -> str:
    """A normal public address; "" for anything else."""
    try:
        normal = queueable_url(url.strip())
    except NotQueuedError:
        return ""
    return normal if is_shareable(normal) else ""
