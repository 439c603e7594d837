"""Turns at hosts over all machines of a district: one request at a time, and its pause, whoever asks.

A turn that its machine cannot give back, because it was killed or cut off, ends with its lease. The pause is written
before the request too, so that it holds even then.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from proxy.errors import DistrictUnavailable
from proxy.fetching.entries import TemporaryFetchError
from proxy.fetching.hostturns import Turns

if TYPE_CHECKING:
    from proxy.district.connection import DistrictConnection
    from proxy.district.crawling.machine import CrawlMachine

log = logging.getLogger(__name__)

_POLL_S = 1.0
_LONGEST_REST_S = 60.0

_TAKE = """
INSERT INTO crawl_hosts AS known (host, turn_of, turn_until, free_at) VALUES (
    %(host)s, %(machine)s, now() + %(lease)s * interval '1 second', now() + %(pause)s * interval '1 second'
) ON CONFLICT (host) DO UPDATE SET
    turn_of = excluded.turn_of,
    turn_until = clock_timestamp() + %(lease)s * interval '1 second',
    free_at = clock_timestamp() + %(pause)s * interval '1 second'
WHERE (known.turn_of = '' OR known.turn_until <= now()) AND known.free_at <= now()
RETURNING host
"""
_WAIT = """
SELECT extract(epoch FROM least(greatest(free_at, 'epoch'), now() + interval '1 year') - now())::float8,
    CASE WHEN turn_of = '' THEN 0
        ELSE extract(epoch FROM least(greatest(turn_until, 'epoch'), now() + interval '1 year') - now()) END::float8
FROM crawl_hosts WHERE host = %(host)s
"""
_LEAVE = """
UPDATE crawl_hosts SET turn_of = '', turn_until = '-infinity',
    free_at = greatest(free_at, clock_timestamp() + %(pause)s * interval '1 second')
WHERE host = %(host)s AND turn_of = %(machine)s
"""
_REST = """
UPDATE crawl_hosts SET free_at = greatest(free_at, clock_timestamp() + %(rest)s * interval '1 second')
WHERE host = %(host)s
"""


class HostLeases:
    """Turns kept in PostgreSQL, within those of this machine's own processes."""

    def __init__(self, machine: "CrawlMachine", local: Turns) -> None:
        self._machine, self._local = machine, local

    @asynccontextmanager
    async def at(self, host: str, *, pause_s: float) -> AsyncIterator[None]:
        """Have the turn at a host; raises TemporaryFetchError when it rests, or the district cannot be reached."""
        async with self._local.at(host, pause_s=pause_s):
            while (wait_s := await self._asked(self._take, host, pause_s)) > 0:
                await asyncio.sleep(min(wait_s, _POLL_S))
            try:
                yield
            finally:
                await asyncio.shield(self._leave(host, pause_s))

    async def rest(self, host: str, after_s: float) -> None:
        """No machine has a turn at this host for a while."""
        await self._local.rest(host, after_s)
        await self._asked(self._note_rest, host, after_s)

    async def _asked(self, work: Callable[[str, float], float], host: str, seconds: float) -> float:
        try:
            return await asyncio.to_thread(work, host, seconds)
        except DistrictUnavailable as error:
            raise TemporaryFetchError(f"the district's database: {error}") from error

    async def _leave(self, host: str, pause_s: float) -> None:
        try:
            await asyncio.to_thread(self._note_left, host, pause_s)
        except DistrictUnavailable as error:
            log.warning("the turn at %s ends with its lease: %s", host, error)

    def _take(self, host: str, pause_s: float) -> float:
        """Try to have the turn; returns the seconds to wait, 0 with the turn."""
        values = {**self._machine.names, "host": host, "pause": pause_s}

        def take(connection: "DistrictConnection") -> float:
            if connection.execute(_TAKE, values).fetchone() is not None:
                return 0.0
            row = connection.execute(_WAIT, values).fetchone()
            rest_s, turn_s = map(float, row) if row is not None else (0.0, 0.0)
            if rest_s > max(pause_s, _LONGEST_REST_S):
                raise TemporaryFetchError("the site asks us to wait", after_s=rest_s)
            return max(rest_s, min(turn_s, _POLL_S / 5), 0.01)

        return self._machine.run(take)

    def _note_left(self, host: str, pause_s: float) -> None:
        values = {**self._machine.names, "host": host, "pause": pause_s}
        self._machine.run(lambda connection: connection.execute(_LEAVE, values))

    def _note_rest(self, host: str, after_s: float) -> float:
        values = {"host": host, "rest": after_s}
        self._machine.run(lambda connection: connection.execute(_REST, values))
        return 0.0
