"""Repairs many links at once: one JSON object a line in, one JSON object a line out, in the same order.

A few links are repaired at the same time, however long the list is. A line that cannot be read is answered by a
line with the error; the others go on.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from proxy.cli.inputlines import MAX_BYTES, STDIN, lines
from proxy.cli.progress import Tell
from proxy.pages.repairpage import as_json
from repair.model import BrokenLink, MissKind
from repair.pipeline import Repairer
from repair.text.urls import is_web_url

_AT_ONCE = 4
_MAX_WORDS = 10_000  # characters of an anchor or a context

Answer = dict[str, Any]


class BatchLink(msgspec.Struct, kw_only=True):
    """A line of a batch. `context` is for callers that do not know on which side of the link the text was."""

    url: str
    source: str | None = None
    anchor: str = ""
    context: str = ""
    context_before: str = ""
    context_after: str = ""
    id: str | int | None = None


def broken_link_of(request: BatchLink) -> BrokenLink:
    """The link; ValueError says what is wrong with it."""
    for name, url in (("url", request.url), ("source", request.source)):
        if url is not None and not is_web_url(url):
            raise ValueError(f"{name}: expected an http or https address, got {url[:200]!r}")
    before = " ".join(filter(None, (request.context, request.context_before)))
    return BrokenLink(
        url=request.url,
        kind=MissKind.NOT_FOUND,
        source_url=request.source,
        anchor=request.anchor[:_MAX_WORDS],
        before=before[-_MAX_WORDS:],
        after=request.context_after[:_MAX_WORDS],
    )


def count(batch: Path) -> int | None:
    """The number of lines to answer; None when it cannot be known beforehand."""
    return None if batch == STDIN else sum(1 for _ in lines(batch))


async def mend_all(
    repairer: Repairer, batch: Path, write: Callable[[Answer], None], tell: Tell = lambda _: None
) -> None:
    """Write the answer to every line, in order, each as soon as possible; `tell` gets the number written."""
    # Besides those in the queue, one task is awaited here and one waits for a free place.
    waiting: asyncio.Queue[asyncio.Task[Answer] | None] = asyncio.Queue(_AT_ONCE - 2)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_start_repairs(repairer, batch, waiting, group))
            done = 0
            while (answer := await waiting.get()) is not None:
                write(await answer)
                done += 1
                tell(done)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _start_repairs(
    repairer: Repairer,
    batch: Path,
    waiting: asyncio.Queue[asyncio.Task[Answer] | None],
    group: asyncio.TaskGroup,
) -> None:
    found = lines(batch)
    # In a thread: the program that writes to our standard input may be slow.
    while (numbered := await asyncio.to_thread(next, found, None)) is not None:
        await waiting.put(group.create_task(_answer(repairer, *numbered)))
    await waiting.put(None)


async def _answer(repairer: Repairer, number: int, line: bytes | None) -> Answer:
    known: Answer = {}
    try:
        if line is None:
            raise ValueError(f"line longer than {MAX_BYTES} bytes")
        request = msgspec.json.decode(line, type=BatchLink)
        known = {"id": request.id} if request.id is not None else {}
        link = broken_link_of(request)
    except ValueError as error:  # also what msgspec raises, and bytes that are no text
        return {**known, "error": str(error), "line": number}
    return {**known, **as_json(await repairer.repair(link))}
