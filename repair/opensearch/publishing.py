"""Puts pages into the district's index, and takes removed ones out, in batches that may be sent again at any time.

Every write carries its version (`pagedocument.version`): an older page never replaces a newer one, sending twice
changes nothing, and two schools that send the same page leave one. What other schools' pages call a page is added
afterwards (`add_anchors`), as a further revision of the same version.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from importlib import resources
from typing import Any

from repair.collection.index.fulltext import FIELDS, anchor_terms, link_terms
from repair.model import Link
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.pagedocument import (
    FIELD_NAMES,
    INDEX,
    SharedPage,
    body_of,
    document_id,
    joined,
    link_columns,
    packed,
    page_number,
    parted,
    same_fetch,
    tombstone,
    unpacked_links,
    version,
)
from repair.opensearch.questions import inlinks_query, linking, search_many
from repair.opensearch.sitesheets import changed_sheet, sheet_number

_WITHIN_S = 60.0
_ANCHORS = 200  # as many as a school's own index takes
_BULK_BYTES = 5_000_000
_TRIES = 5

Versioned = dict[str, tuple[int, dict[str, Any]]]
"""Documents by id, each with its version."""


def install(client: OpenSearchClient, *, shards: int = 1, replicas: int = 1) -> None:
    """Put the template in place and create the index where there is none; may be done again."""
    template = json.loads(resources.files("repair.opensearch").joinpath("pages.json").read_text("utf-8"))
    template["template"]["settings"] |= {"number_of_shards": shards, "number_of_replicas": replicas}
    client.ask("PUT", f"/_index_template/{INDEX}", template, within_s=_WITHIN_S)
    created = client.ask("PUT", f"/{INDEX}", within_s=_WITHIN_S, allowed=(200, 400))
    error = created.get("error", {})
    if error and error.get("type") != "resource_already_exists_exception":
        raise SearchUnavailable(f"cannot create {INDEX}: {error.get('type')}")


def install_if_missing(client: OpenSearchClient) -> None:
    """`install`, unless the index is there: the district may have given it other shards."""
    there = client.ask("GET", f"/{INDEX}/_count", within_s=_WITHIN_S, allowed=(200, 404))
    if "count" not in there:
        install(client)


def publish(client: OpenSearchClient, pages: Iterable[SharedPage]) -> int:
    """Send pages; returns how many of them the index took, the others being older than what it has."""
    return _send(
        client,
        {
            document_id(page_number(page.document.url)): (version(page.fetched_at), body_of(page))
            for page in pages
        },
    )


def bury(client: OpenSearchClient, urls: Iterable[str], removed_at: datetime) -> int:
    """Replace pages by tombstones, in all schools at once."""
    numbers = map(page_number, urls)
    return _send(
        client, {document_id(number): (version(removed_at), tombstone(number)) for number in numbers}
    )


def withdraw(client: OpenSearchClient, pages: Sequence[tuple[str, datetime]]) -> list[str]:
    """Delete those of some pages whose newest version is of this fetch; returns their URLs.

    They leave no tombstones: another school that saves one may send it.
    """
    fetched = {document_id(page_number(url)): (url, at) for url, at in pages}
    if not fetched:
        return []
    found = client.ask("POST", f"/{INDEX}/_mget?_source=false", {"ids": list(fetched)}, within_s=_WITHIN_S)
    lines = []
    for each in found["docs"]:
        _, at = fetched[each["_id"]]
        if each.get("found") and same_fetch(each["_version"], version(at)):
            action = {"_id": each["_id"], "version": each["_version"] + 1, "version_type": "external"}
            lines.append(json.dumps({"delete": action}))
    if not lines:
        return []
    answer = client.ask("POST", f"/{INDEX}/_bulk", "\n".join((*lines, "")), within_s=_WITHIN_S)
    results = [each["delete"] for each in answer["items"]]
    return [fetched[each["_id"]][0] for each in results if each["status"] == HTTPStatus.OK]


def note_addresses(
    client: OpenSearchClient, added: Mapping[str, Sequence[str]], removed: Mapping[str, Sequence[str]]
) -> None:
    """Add URLs to the sheets of their sites, and take removed ones out."""
    waiting = {document_id(sheet_number(site)): site for site in (*added, *removed)}
    for _ in range(_TRIES):
        if not waiting:
            return
        found = client.ask("POST", f"/{INDEX}/_mget", {"ids": list(waiting)}, within_s=_WITHIN_S)
        changed: Versioned = {}
        for each in found["docs"]:
            site = waiting[each["_id"]]
            column = str(each["_source"].get("addresses", "")) if each.get("found") else None
            body = changed_sheet(site, column, added.get(site, ()), removed.get(site, ()))
            if body is not None:
                changed[each["_id"]] = (each.get("_version", 0) + 1, body)
        # Another school may have changed a sheet in between.
        waiting = {each: waiting[each] for each in (_bulk(client, changed) if changed else ())}
    raise SearchUnavailable("other schools change the same sites")


def add_anchors(client: OpenSearchClient, urls: Sequence[str]) -> int:
    """Give pages the names that links of all schools' pages use for them; returns how many changed."""
    # Searches see new pages only after a refresh; without it a page would lose the names that they gave it.
    client.ask("POST", f"/{INDEX}/_refresh", within_s=_WITHIN_S)
    ids = [document_id(page_number(url)) for url in urls]
    found = client.ask("POST", f"/{INDEX}/_mget?_source_excludes=text", {"ids": ids}, within_s=_WITHIN_S)
    stored = {each["_id"]: each for each in found["docs"] if each.get("found") and "url" in each["_source"]}
    pages = [each["_source"]["url"] for each in stored.values()]
    changed: Versioned = {}
    for url, anchors in zip(pages, _anchors_of(client, pages), strict=True):
        each = stored[document_id(page_number(url))]
        terms = anchor_terms(each["_source"]["caption"], anchors, each["_source"]["language"])
        if any(each["_source"][name] != joined(terms[name]) for name in terms):
            changed[each["_id"]] = (each["_version"] + 1, terms)
    if not changed:
        return 0
    query = {
        "query": {"ids": {"values": list(changed)}},
        "size": len(changed),
        "version": True,
        "docvalue_fields": ["links"],
    }
    whole = client.ask("POST", f"/{INDEX}/_search", query, within_s=_WITHIN_S)
    revised: Versioned = {}
    for each in whole["hits"]["hits"]:
        number, terms = changed[each["_id"]]
        if each["_version"] == number - 1:  # else a newer page came in between
            with suppress(KeyError, ValueError, TypeError):  # of a page that is none, no names are kept
                links = list(unpacked_links(each["fields"]["links"][0]))
                revised[each["_id"]] = (number, _revised(each["_source"], links, terms))
    return _send(client, revised)


def _revised(
    source: dict[str, Any], links: Sequence[Link], terms: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    fields: dict[str, Sequence[str]] = {name: parted(source[FIELD_NAMES[name]]) for name in FIELDS}
    fields |= terms
    linked = link_terms(dict.fromkeys(link.target_url for link in links))
    renamed = {FIELD_NAMES[name]: joined(terms[name]) for name in terms}
    return {
        **source,
        **renamed,
        **link_columns(links),
        "vector": packed({**fields, "links": linked}),
    }


def _anchors_of(client: OpenSearchClient, urls: Sequence[str]) -> list[list[str]]:
    """The anchor texts of links to pages in running text, for each page those of all schools."""
    found = search_many(client, [inlinks_query(url, _ANCHORS) for url in urls], within_s=_WITHIN_S)
    return [
        [link.anchor for source, link in linking(url, answer) if link.anchor and source != url][:_ANCHORS]
        for url, answer in zip(urls, found, strict=True)
    ]


def _send(client: OpenSearchClient, documents: Versioned) -> int:
    waiting = documents
    for _ in range(2):
        refused = _bulk(client, waiting)
        waiting = _next_revisions(client, {each: documents[each] for each in refused})
        if not waiting:
            break
    return len(documents) - len(refused)


def _bulk(client: OpenSearchClient, documents: Versioned) -> list[str]:
    """Send documents; returns the ids of those that have a newer version already."""
    refused: list[str] = []
    lines: list[str] = []
    size = 0
    for number, (each, (its_version, body)) in enumerate(documents.items(), 1):
        action = {"_id": each, "version": its_version, "version_type": "external"}
        lines += (json.dumps({"index": action}), json.dumps(body, ensure_ascii=False))
        size += len(lines[-1])
        if size > _BULK_BYTES or number == len(documents):
            refused += _refused(
                client.ask("POST", f"/{INDEX}/_bulk", "\n".join((*lines, "")), within_s=_WITHIN_S)
            )
            lines, size = [], 0
    return refused


def _refused(answer: Any) -> list[str]:
    results = [each["index"] for each in answer["items"]] if answer["errors"] else []
    for each in results:
        if each["status"] >= 300 and each["status"] != 409:
            raise SearchUnavailable(f"page not taken: {each['status']} {each['error'].get('type')}")
    return [each["_id"] for each in results if each["status"] == 409]


def _next_revisions(client: OpenSearchClient, refused: Versioned) -> Versioned:
    """Pages refused only because the same version has got anchors since, as its next revision."""
    if not refused:
        return {}
    found = client.ask("POST", f"/{INDEX}/_mget?_source=false", {"ids": list(refused)}, within_s=_WITHIN_S)
    revisions: Versioned = {}
    for each in found["docs"]:
        its_version, body = refused[each["_id"]]
        if each.get("found") and same_fetch(each["_version"], its_version):
            revisions[each["_id"]] = (each["_version"] + 1, body)
    return revisions
