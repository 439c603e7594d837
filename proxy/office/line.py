"""A worker's end of the line to the office: questions with a time limit, and notes that never make anybody wait.

An office that is gone or silent costs a reader nothing but what it would have known: a question is then answered by
`NoAnswer` at once, notes wait in a bounded buffer, and the line connects again by itself.
"""

import asyncio
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.msgpack import Decoder

from proxy.office.messages import (
    TO_WORKER,
    Answered,
    Asked,
    ClientOpened,
    Failed,
    News,
    Note,
    Question,
    Shared,
    Told,
    Welcome,
)
from proxy.office.wire import TooLong, frame, read_frame
from proxy.seldom import Seldom

log = logging.getLogger(__name__)

UNSENT_BYTES = 8 * 1024**2
"""What may wait for a slow office; past it, notes are let go ..."""
KEPT_BYTES = 2 * 1024**2
"""... and for one that is not there."""
_SILENCE_S = 2.0  # an office that let somebody wait in vain is not asked again so soon
_NEWS_S = 0.02
_NEWS_AT_MOST = 100
_AGAIN_S = 0.1
_MOST_AGAIN_S = 1.0
_PARTING_S = 2.0

T = TypeVar("T")


class NoAnswer(TimeoutError):
    """The office is not there, too slow, or could not answer."""


class OfficeLine:
    """One connection to the office, made anew whenever it breaks. For one event loop."""

    def __init__(
        self,
        path: Path,
        *,
        on_news: Callable[[News], None],
        on_welcome: Callable[[Welcome], None] = lambda said: None,
    ) -> None:
        self._path = path
        self._on_news = on_news
        self._on_welcome = on_welcome
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._ids = itertools.count(1)
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self._news: list[News] = []
        self._sending_news: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._silent_until = 0.0
        self._connecting: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self._losing = Seldom(log)
        self.lost = 0

    async def start(self, *, wait_s: float) -> None:
        """Connect, and wait for the office, but not for ever: it may come later."""
        self._connecting = asyncio.create_task(self._keep_connected())
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._up.wait()

    @property
    def is_up(self) -> bool:
        return self._writer is not None

    async def ask(self, question: Question, answer: Decoder[T], *, within_s: float) -> T:
        """The office's answer. Raises NoAnswer."""
        now = time.monotonic()
        if self._writer is None or now < self._silent_until or self._is_behind(self._writer):
            raise NoAnswer("the office is not there")
        number = next(self._ids)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(frame(Asked(id=number, question=question, within_s=within_s)))
            async with asyncio.timeout(within_s):
                return answer.decode(await waiting)
        except TimeoutError as error:
            if self._heard_at < now:
                self._silent_until = time.monotonic() + _SILENCE_S
            raise NoAnswer(str(error) or f"no answer within {within_s:.1f} s") from error
        except (TooLong, msgspec.MsgspecError) as error:
            raise NoAnswer(str(error)) from error
        finally:
            del self._waiting[number]

    def tell(self, note: Note) -> bool:
        """Have the office note something; False when it is let go."""
        return self._send(Told(note=note))

    def share(self, news: News) -> None:
        """Have the other workers know something: at once, since a browser may be on its way to them.

        Only which pages were opened, which is by far the most, is gathered for a moment.
        """
        self._news.append(news)
        if not isinstance(news, ClientOpened) or len(self._news) >= _NEWS_AT_MOST:
            self._send_news()
        elif self._sending_news is None:
            self._sending_news = asyncio.get_running_loop().call_later(_NEWS_S, self._send_news)

    async def close(self) -> None:
        """Send what waits, then hang up."""
        self._send_news()
        if self._connecting is None:
            return
        writer = self._writer
        self._connecting.cancel()
        await asyncio.gather(self._connecting, return_exceptions=True)
        if writer is not None:
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_PARTING_S):
                    await writer.wait_closed()  # once all is sent

    def _send(self, message: Told | Shared) -> bool:
        try:
            data = frame(message)
        except TooLong:
            return self._let_go()
        if self._writer is not None and not self._is_behind(self._writer):
            self._writer.write(data)
        elif self._writer is None and self._kept_bytes + len(data) <= KEPT_BYTES:
            self._kept.append(data)
            self._kept_bytes += len(data)
        else:
            return self._let_go()
        return True

    def _send_news(self) -> None:
        """All in one message: it costs the office and the other workers as much as one."""
        if self._sending_news is not None:
            self._sending_news.cancel()
            self._sending_news = None
        if self._news:
            self._send(Shared(news=tuple(self._news)))
            self._news.clear()

    def _let_go(self) -> bool:
        self.lost += 1
        self._losing.warn("the office cannot keep up: notes are lost, %d so far", self.lost)
        return False

    def _is_behind(self, writer: asyncio.StreamWriter) -> bool:
        return writer.transport.get_write_buffer_size() > UNSENT_BYTES

    async def _keep_connected(self) -> None:
        again_s = _AGAIN_S
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(self._path)
            except OSError as error:
                log.warning("no line to the office: %s", error)
            else:
                try:
                    await self._listen(reader, writer)
                except (OSError, EOFError, TooLong, msgspec.MsgspecError) as error:
                    log.warning("the line to the office broke: %s", error)
                finally:
                    again_s = _AGAIN_S if self._up.is_set() else min(2 * again_s, _MOST_AGAIN_S)
                    self._hang_up(writer)
            await asyncio.sleep(again_s)

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            message = TO_WORKER.decode(await read_frame(reader))
            self._heard_at, self._silent_until = time.monotonic(), 0.0
            if isinstance(message, Shared):
                for news in message.news:
                    self._on_news(news)
            elif isinstance(message, Welcome):
                self._writer = writer
                self._on_welcome(message)
                self._up.set()
                self._send_kept(writer)
            else:
                self._answered(message)

    def _answered(self, message: Answered | Failed) -> None:
        waiting = self._waiting.get(message.id)
        if waiting is None or waiting.done():
            return  # who asked has given up
        if isinstance(message, Answered):
            waiting.set_result(message.answer)
        else:
            waiting.set_exception(NoAnswer(message.why))

    def _send_kept(self, writer: asyncio.StreamWriter) -> None:
        writer.writelines(self._kept)
        self._kept.clear()
        self._kept_bytes = 0

    def _hang_up(self, writer: asyncio.StreamWriter) -> None:
        self._writer = None
        self._up.clear()
        writer.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(NoAnswer("the line to the office broke"))
