"""The questions to the district's index as OpenSearch's queries, and its answers as our values.

Whatever comes back was written by some school or by somebody in between: a hit of another shape is passed over.
"""

import binascii
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from repair.collection.index.fulltext import Search, valid_terms
from repair.collection.index.vectors import is_packed
from repair.collection.pages import PageSummary
from repair.model import HeldPage, Link
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.pagedocument import (
    FIELD_NAMES,
    INDEX,
    column_bytes,
    document_id,
    link_of,
    page_number,
)

Query = dict[str, Any]

_COLUMNS = ["url", "caption", "language", "digest", "vector"]
_LINK_COLUMNS = ["links.nav", "links.position", "links.words"]
_OF_ONE_PAGE = 3  # links of one page to another that are read; the first say most
_ODD = (KeyError, IndexError, TypeError, ValueError, AttributeError, binascii.Error)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPage:
    """What ranking needs of a page: its summary and its term vector."""

    summary: PageSummary
    vector: bytes


def search_query(search: Search) -> Query:
    """The pages for weighted terms, best first, by the same BM25 as in a school's own index."""
    clauses = [
        {"term": {FIELD_NAMES[name]: {"value": term, "boost": weight * boost}}}
        for term, weight in valid_terms(search.terms)
        for name, boost in search.weights.items()
        if boost > 0
    ]
    query: Query = {"bool": {"should": clauses}} if clauses else {"match_none": {}}
    return {
        "query": query,
        "size": max(0, search.limit),
        "_source": False,
        "docvalue_fields": ["url"],
        "track_total_hits": False,
        # Equal scores in the same order on every node, whichever has the page.
        "sort": ["_score", "number"],
    }


def pages_query(numbers: Sequence[int], *, text: bool = False) -> Query:
    """Pages by number: columns alone, which are read without the document; with `text` what a snippet needs too."""
    return {
        "query": {"ids": {"values": [document_id(number) for number in numbers]}},
        "size": len(numbers),
        "docvalue_fields": _COLUMNS,
        "_source": ["text", "fetched_at"] if text else False,
        "track_total_hits": False,
        "sort": ["_doc"],
    }


def inlinks_query(url: str, limit: int, *, nav: bool | None = None, source: str | None = None) -> Query:
    """Pages that link to a URL, those in running text first, with the words of these links."""
    wanted: list[Query] = [{"term": {"links.target": url}}]
    if nav is not None:
        wanted.append({"term": {"links.nav": nav}})
    in_text = {"constant_score": {"filter": {"term": {"links.nav": False}}}}
    query: Query = {
        "nested": {
            "path": "links",
            "score_mode": "max",
            "query": {"bool": {"filter": wanted, "should": [in_text]}},
            "inner_hits": {
                "size": _OF_ONE_PAGE,
                "_source": False,
                "docvalue_fields": _LINK_COLUMNS,
                "sort": ["links.nav", "links.position"],
            },
        }
    }
    if source is not None:
        query = {
            "bool": {"must": [query], "filter": [{"ids": {"values": [document_id(page_number(source))]}}]}
        }
    return {
        "query": query,
        "size": limit,
        "_source": False,
        "docvalue_fields": _COLUMNS,
        "track_total_hits": False,
        "sort": ["_score", "number"],
    }


def addresses_query(beginning: str, limit: int) -> Query:
    """URLs with a prefix: page numbers are hashes, so the first by number are an even sample."""
    return {
        "query": {"prefix": {"url": beginning}},
        "size": limit,
        "_source": False,
        "docvalue_fields": ["url"],
        "track_total_hits": False,
        "sort": ["number"],
    }


def search_many(client: OpenSearchClient, queries: Sequence[Query], *, within_s: float) -> list[list[Any]]:
    """The hits of each query, in one round trip; raises SearchUnavailable when any of them failed."""
    if not queries:
        return []
    lines = [line for query in queries for line in ("{}", json.dumps(query, ensure_ascii=False))]
    path = f"/{INDEX}/_msearch?search_type=dfs_query_then_fetch&ccs_minimize_roundtrips=true"
    answer = client.ask("POST", path, "\n".join((*lines, "")), within_s=within_s)
    try:
        responses = answer["responses"]
        found = [response["hits"]["hits"] for response in responses]
        whole = all(
            response["_shards"]["failed"] == 0 and not response["timed_out"] for response in responses
        )
    except _ODD as error:
        raise SearchUnavailable(f"an answer without hits: {error!r}") from error
    if len(found) != len(queries) or not whole or not all(isinstance(hits, list) for hits in found):
        raise SearchUnavailable("part of the index did not answer")
    return found


def scored(hits: Iterable[Any]) -> Iterator[tuple[str, int, float]]:
    """URLs, page numbers and scores."""
    for hit in hits:
        try:
            yield str(hit["fields"]["url"][0]), int(hit["_id"], 16), float(hit["_score"])
        except _ODD:
            continue


def loaded(hits: Iterable[Any]) -> Iterator[LoadedPage]:
    """Pages with their vectors; removed ones are left out."""
    for hit in hits:
        try:
            columns = {name: hit["fields"][name][0] for name in _COLUMNS}
            number, vector = int(hit["_id"], 16), column_bytes(columns["vector"])
            if not is_packed(vector) or page_number(columns["url"]) != number:
                continue
            summary = PageSummary(
                page=number,
                url=columns["url"],
                title=str(columns["caption"]),
                language=str(columns["language"]),
                digest=bytes.fromhex(columns["digest"]),
            )
        except _ODD:
            continue
        yield LoadedPage(summary=summary, vector=vector)


def with_text(hits: Iterable[Any]) -> Iterator[HeldPage]:
    """Pages with their text."""
    for hit in hits:
        for page in loaded((hit,)):
            try:
                source = hit["_source"]
                yield HeldPage(
                    url=page.summary.url,
                    title=page.summary.title,
                    text=str(source["text"]),
                    language=page.summary.language,
                    fetched_at=datetime.fromtimestamp(int(source["fetched_at"]), UTC),
                    pinned=False,
                    has_copy=False,
                )
            except (*_ODD, OverflowError, OSError):
                continue


def linking(target_url: str, hits: Iterable[Any]) -> Iterator[tuple[str, Link]]:
    """The pages that link to a URL, and these links."""
    for hit in hits:
        try:
            source = str(hit["fields"]["url"][0])
            for inner in hit["inner_hits"]["links"]["hits"]["hits"]:
                columns = {name.partition(".")[2]: values[0] for name, values in inner["fields"].items()}
                yield source, link_of(target_url, columns)
        except _ODD:
            continue


def links_of(hits: Iterable[Any]) -> Iterator[Link]:
    """All links of pages, in page order."""
    for hit in hits:
        try:
            for stored in hit["_source"]["links"]:
                yield link_of(str(stored["target"]), stored)
        except _ODD:
            continue


def urls_of(hits: Iterable[Any]) -> Iterator[str]:
    """The URLs of pages."""
    for hit in hits:
        try:
            yield str(hit["fields"]["url"][0])
        except _ODD:
            continue
