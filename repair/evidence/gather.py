"""Collect evidence from all sources until the deadline: remote ones concurrently, local ones one after another."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from repair.evidence import LocalSource, Source
from repair.model import BrokenLink, Evidence

log = logging.getLogger(__name__)


async def gather(
    link: BrokenLink,
    sources: Sequence[Source],
    *,
    deadline_s: float,
    on_loss: Callable[[], None] = lambda: None,
) -> tuple[Evidence, ...]:
    """The evidence in the order of the sources.

    A source that fails or is late costs its evidence and one logged line, and `on_loss` is called.
    """
    tasks = [asyncio.ensure_future(source.evidence(link)) for source in sources]
    if not tasks:
        return ()
    try:
        await asyncio.wait(tasks, timeout=deadline_s)
    finally:
        for task in tasks:
            task.cancel()
    found = (
        _result(source.name, task, link, deadline_s, on_loss)
        for source, task in zip(sources, tasks, strict=True)
    )
    return tuple(evidence for evidence in found if evidence is not None)


def gather_local(
    link: BrokenLink,
    sources: Sequence[LocalSource],
    *,
    deadline_s: float,
    on_loss: Callable[[], None] = lambda: None,
) -> tuple[Evidence, ...]:
    """The evidence of sources that need only the collection, one after the other in the calling thread.

    Each takes a millisecond or less: a thread for each would cost more than it gains. `on_loss` as above.
    """
    until = time.monotonic() + deadline_s
    found = []
    for source in sources:
        if time.monotonic() > until:
            log.warning(
                "evidence source %s: not started within %.1f s for %s", source.name, deadline_s, link.url
            )
            on_loss()
            continue
        try:
            found.append(source.find(link))
        except Exception as error:  # noqa: BLE001 (whatever it was costs this source's evidence, no other's)
            log.warning(
                "evidence source %s: failed for %s: %s: %s",
                source.name,
                link.url,
                type(error).__name__,
                error,
            )
            on_loss()
    return tuple(evidence for evidence in found if evidence is not None)


def _result(
    name: str,
    task: "asyncio.Future[Evidence | None]",
    link: BrokenLink,
    deadline_s: float,
    on_loss: Callable[[], None],
) -> Evidence | None:
    if not task.done():
        log.warning("evidence source %s: timed out after %.1f s for %s", name, deadline_s, link.url)
        on_loss()
        return None
    error = None if task.cancelled() else task.exception()
    if task.cancelled() or error is not None:
        log.warning("evidence source %s: failed for %s: %s: %s", name, link.url, type(error).__name__, error)
        on_loss()
        return None
    return task.result()
