"""The questions to the district's index as OpenSearch's queries, and its answers as our values.

Whatever comes back was written by some school or by somebody in between: a hit of another shape is passed over.
"""

import binascii
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from repair.collection.index.fulltext import DEEPER, Search, rank_key, valid_terms
from repair.collection.index.vectors import is_packed
from repair.collection.pages import PageSummary
from repair.model import HeldPage, Link
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.pagedocument import (
    FIELD_NAMES,
    INDEX,
    column_bytes,
    document_id,
    page_number,
    unpacked_links,
)
from repair.opensearch.sitesheets import sheet_number, unpacked_sheet
from repair.text.publichosts import is_public_host
from repair.text.urls import normal, parse

Query = dict[str, Any]

_COLUMNS = ["url", "caption", "language", "digest", "vector"]
_COLUMNS_ONLY = {"_source": False, "stored_fields": "_none_", "track_total_hits": False}
"""Hits are read from columns: a stored field, be it the id, costs unpacking the block of documents around it."""
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
        "size": search.limit + DEEPER if clauses else 0,
        **_COLUMNS_ONLY,
        "docvalue_fields": ["url"],
        # Equal scores in the same order on every node, whichever has the page.
        "sort": ["_score", "number"],
    }


def pages_query(numbers: Sequence[int], *, text: bool = False) -> Query:
    """Pages by number: columns alone, which are read without the document; with `text` what a snippet needs too."""
    query: Query = {
        "query": {"ids": {"values": [document_id(number) for number in numbers]}},
        "size": len(numbers),
        **_COLUMNS_ONLY,
        "docvalue_fields": _COLUMNS,
        "sort": ["_doc"],
    }
    if text:
        del query["stored_fields"]
        query["_source"] = ["text", "fetched_at"]
    return query


def inlinks_query(url: str, limit: int) -> Query:
    """Pages whose texts link to a URL, with their links, in an order that every school's own collection has too."""
    return {
        "query": {"constant_score": {"filter": {"term": {"linked": document_id(page_number(url))}}}},
        "size": limit,
        **_COLUMNS_ONLY,
        "docvalue_fields": [*_COLUMNS, "links"],
        "sort": ["number"],
    }


def outlinks_query(number: int) -> Query:
    """The links of a page."""
    return {**pages_query([number]), "docvalue_fields": ["links"]}


def sheets_query(sites: Sequence[str]) -> Query:
    """What is known of the URLs of sites."""
    return {**pages_query([sheet_number(site) for site in sites]), "docvalue_fields": ["addresses"]}


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


def _public_url(url: str) -> str:
    """The URL of a page, checked: nobody is led into the school's network, or to a script. Raises ValueError."""
    if normal(url) != url or not _is_public(parse(url).host):
        raise ValueError("no public page")
    return url


_is_public = lru_cache(maxsize=4096)(is_public_host)


def scored(hits: Iterable[Any], limit: int) -> list[tuple[str, int, float]]:
    """URLs, page numbers and scores, in the order of a school's own index."""
    found = []
    for hit in hits:
        try:
            url = _public_url(hit["fields"]["url"][0])
            found.append((url, page_number(url), float(hit["_score"])))
        except _ODD:
            continue
    return sorted(found, key=lambda each: rank_key(each[2], each[1]))[:limit]


def loaded(hits: Iterable[Any]) -> Iterator[LoadedPage]:
    """Pages with their vectors; removed ones are left out."""
    for hit in hits:
        try:
            columns = {name: hit["fields"][name][0] for name in _COLUMNS}
            vector = column_bytes(columns["vector"])
            if not is_packed(vector):
                continue
            summary = PageSummary(
                page=page_number(_public_url(columns["url"])),
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
            source = _public_url(hit["fields"]["url"][0])
            for link in unpacked_links(hit["fields"]["links"][0], target_url):
                yield source, link
        except _ODD:
            continue


def links_of(hits: Iterable[Any]) -> Iterator[Link]:
    """The links of pages, in page order."""
    for hit in hits:
        try:
            yield from unpacked_links(hit["fields"]["links"][0])
        except _ODD:
            continue


def sheets_of(hits: Iterable[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Sites and their URLs."""
    for hit in hits:
        try:
            yield unpacked_sheet(hit["fields"]["addresses"][0])
        except _ODD:
            continue
