"""Makes the census of the district's index and stores it there, for every school to fetch."""

import base64
import time
from collections.abc import Iterator
from dataclasses import dataclass

from repair.opensearch import census
from repair.opensearch.census import SAMPLED, Census
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.pagedocument import INDEX, column_bytes

CENSUS_INDEX = "linkmend-census"
_WITHIN_S = 60.0
_PART = 4_000_000  # bytes in one document
_BATCH = 1_000
_MAX_PARTS = 100
_EVERY_S = 86_400.0
_GROWN = 1.2
_MAX_NUMBER = (1 << 63) - 1


def count_pages(client: OpenSearchClient) -> int:
    """How many pages the index has, tombstones left out; those of the last seconds too."""
    client.ask("POST", f"/{INDEX}/_refresh", within_s=_WITHIN_S)
    query = {"query": {"exists": {"field": "url"}}}
    return int(client.ask("POST", f"/{INDEX}/_count", query, within_s=_WITHIN_S)["count"])


def take_census(client: OpenSearchClient, *, sampled: int = SAMPLED) -> Census:
    """Count the terms of all pages, or of an even sample of about `sampled`; raises SearchUnavailable."""
    pages = count_pages(client)
    share = min(1.0, sampled / max(1, pages))
    return census.count(_vectors(client, min(int(share * _MAX_NUMBER), _MAX_NUMBER)), share=share)


def store_census(client: OpenSearchClient, counted: Census, made_at: float | None = None) -> None:
    """Store a census in parts, and its name last, so that nobody reads half of one."""
    _create_index(client)
    data = census.write(counted)
    name = f"{int(time.time() if made_at is None else made_at)}"
    parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    for number, part in enumerate(parts):
        body = {"part": base64.b64encode(part).decode()}
        client.ask("PUT", f"/{CENSUS_INDEX}/_doc/{name}-{number}", body, within_s=_WITHIN_S)
    current = {"name": name, "parts": len(parts), "pages": counted.pages}
    client.ask("PUT", f"/{CENSUS_INDEX}/_doc/current", current, within_s=_WITHIN_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusNote:
    """What is known of a census before it is fetched: when it was made, in seconds, of how many pages and parts."""

    made_at: int = 0
    pages: int = 0
    parts: int = 0

    def is_due(self, pages: int, now: float) -> bool:
        """Whether it should be made anew: a day later, or when the pages have grown by a fifth."""
        return now - self.made_at > _EVERY_S or pages > _GROWN * self.pages


def current_census(client: OpenSearchClient) -> CensusNote:
    """The current census; made at 0 when there is none. Raises SearchUnavailable."""
    found = client.ask("GET", f"/{CENSUS_INDEX}/_doc/current", within_s=_WITHIN_S, allowed=(200, 404))
    source = found.get("_source") or {}
    try:
        made_at, pages, parts = (int(source.get(name, 0)) for name in ("name", "pages", "parts"))
    except (TypeError, ValueError, AttributeError) as error:
        raise SearchUnavailable(f"no census: {error}") from error
    return CensusNote(made_at=made_at, pages=pages, parts=min(parts, _MAX_PARTS))


def fetch_census(client: OpenSearchClient) -> Census | None:
    """The current census; None when there is none. Raises SearchUnavailable, also when what came is no census."""
    note = current_census(client)
    if not note.made_at:
        return None
    try:
        data = b"".join(
            base64.b64decode(
                client.ask("GET", f"/{CENSUS_INDEX}/_doc/{note.made_at}-{number}", within_s=_WITHIN_S)[
                    "_source"
                ]["part"]
            )
            for number in range(note.parts)
        )
        return census.read(data)
    except (KeyError, TypeError, ValueError) as error:
        raise SearchUnavailable(f"no census: {error}") from error


def _create_index(client: OpenSearchClient) -> None:
    """Create the index of the census, whose documents are only stored, where there is none."""
    client.ask(
        "PUT",
        f"/{CENSUS_INDEX}",
        {"mappings": {"enabled": False}, "settings": {"number_of_shards": 1, "number_of_replicas": 1}},
        within_s=_WITHIN_S,
        allowed=(200, 400),
    )


def _vectors(client: OpenSearchClient, last: int) -> Iterator[bytes]:
    """The term vectors of all pages whose numbers go up to `last`, in the order of the numbers."""
    after = -1
    while True:
        query = {
            "query": {
                "bool": {"filter": [{"range": {"number": {"lte": last}}}, {"exists": {"field": "url"}}]}
            },
            "size": _BATCH,
            "_source": False,
            "docvalue_fields": ["vector", "number"],
            "track_total_hits": False,
            "sort": ["number"],
            "search_after": [after],
        }
        hits = client.ask("POST", f"/{INDEX}/_search", query, within_s=_WITHIN_S)["hits"]["hits"]
        for hit in hits:
            yield column_bytes(hit["fields"]["vector"][0])
        if len(hits) < _BATCH:
            return
        after = int(hits[-1]["fields"]["number"][0])


def claim_census(client: OpenSearchClient, older: CensusNote, now: float) -> bool:
    """Whether this school is the one to replace a census: of all that try within an hour, the first to say so."""
    _create_index(client)
    name = f"after-{older.made_at}-{int(now // 3600)}"
    answer = client.ask(
        "PUT", f"/{CENSUS_INDEX}/_create/{name}", {}, within_s=_WITHIN_S, allowed=(200, 201, 409)
    )
    return bool(answer.get("result") == "created")
