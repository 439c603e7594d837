"""Many links mended at once: a JSON object a line in, a JSON object a line out, in the same order.

Some links are under way at the same time, never more than a few, however long the list is. A line that cannot be
read is answered by a line that says so; the others do not suffer for it.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from proxy.commands.lines import MAX_BYTES, STDIN, lines
from proxy.commands.progress import Tell
from proxy.pages.repairpage import as_json
from repair.model import BrokenLink, MissKind
from repair.pipeline import Repairer
from repair.urls import is_web_url

_AT_ONCE = 4
_MAX_WORDS = 10_000  # characters of an anchor or a context

Answer = dict[str, Any]


class Asked(msgspec.Struct, kw_only=True):
    """A line of a batch. `context` is for those who do not know on which side of the link it stood."""

    url: str
    source: str | None = None
    anchor: str = ""
    context: str = ""
    context_before: str = ""
    context_after: str = ""
    id: str | int | None = None


def broken(asked: Asked) -> BrokenLink:
    """The link; ValueError says what is wrong with it."""
    for name, url in (("url", asked.url), ("source", asked.source)):
        if url is not None and not is_web_url(url):
            raise ValueError(f"{name}: expected an http or https address, got {url[:200]!r}")
    before = " ".join(filter(None, (asked.context, asked.context_before)))
    return BrokenLink(
        url=asked.url,
        kind=MissKind.NOT_FOUND,
        source_url=asked.source,
        anchor=asked.anchor[:_MAX_WORDS],
        before=before[-_MAX_WORDS:],
        after=asked.context_after[:_MAX_WORDS],
    )


def count(batch: Path) -> int | None:
    """How many lines there are to answer; None when that cannot be known beforehand."""
    return None if batch == STDIN else sum(1 for _ in lines(batch))


async def mend_all(
    repairer: Repairer, batch: Path, write: Callable[[Answer], None], tell: Tell = lambda _: None
) -> None:
    """Write the answer to every line, each as soon as those before it are written; `tell` hears how many are."""
    # Besides those in the queue one is waited for here, and one waits for its place.
    waiting: asyncio.Queue[asyncio.Task[Answer] | None] = asyncio.Queue(_AT_ONCE - 2)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_ask(repairer, batch, waiting, group))
            done = 0
            while (answer := await waiting.get()) is not None:
                write(await answer)
                done += 1
                tell(done)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _ask(
    repairer: Repairer,
    batch: Path,
    waiting: asyncio.Queue[asyncio.Task[Answer] | None],
    group: asyncio.TaskGroup,
) -> None:
    found = lines(batch)
    # In a thread: whoever writes to our standard input may take its time.
    while (numbered := await asyncio.to_thread(next, found, None)) is not None:
        await waiting.put(group.create_task(_answer(repairer, *numbered)))
    await waiting.put(None)


async def _answer(repairer: Repairer, number: int, line: bytes | None) -> Answer:
    known: Answer = {}
    try:
        if line is None:
            raise ValueError(f"longer than {MAX_BYTES} bytes")
        asked = msgspec.json.decode(line, type=Asked)
        known = {"id": asked.id} if asked.id is not None else {}
        link = broken(asked)
    except ValueError as error:  # also what msgspec raises, and bytes that are no text
        return {**known, "error": str(error), "line": number}
    return {**known, **as_json(await repairer.repair(link))}
