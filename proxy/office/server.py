"""The office's end of the line: answers the workers' questions, takes their notes, passes on what they share.

Everything that blocks runs in the threads of the parts it asks, so that the line itself is always answered. Past so
many questions of one worker at once, a question fails at once: its reader gets a page without what was asked.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import msgspec

from proxy.archives.findings import lighter
from proxy.office import messages
from proxy.office.messages import TO_OFFICE, Answered, Asked, Failed, Note, Question, Shared, Told, Welcome
from proxy.office.wire import TooLong, encoded, frame, read_frame
from proxy.pages.language import choose
from proxy.processes.loops import close_door
from proxy.seams import Office

log = logging.getLogger(__name__)

MOST_QUESTIONS = 500
"""Of one worker at the same time."""
_RETOLD = 20_000  # news that a worker which comes later is told
_RETOLD_BYTES = 4 * 1024**2
_UNSENT_BYTES = 4 * 1024**2  # a worker that does not listen is not told news for now
_PARTING_S = 5.0


class OfficeServer:
    """Serves every worker that connects to a listening socket."""

    def __init__(
        self, office: Office, listener: socket.socket, *, welcome: Callable[[], Welcome] = Welcome
    ) -> None:
        """`welcome` is what a worker is told first."""
        self._office = office
        self._welcome = welcome
        self._listener = listener
        self._server: asyncio.Server | None = None
        self._workers: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._leaving: set[asyncio.StreamWriter] = set()
        self._news: deque[bytes] = deque()
        self._news_bytes = 0

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, sock=self._listener)

    def has_workers(self) -> bool:
        """Whether anybody takes readers."""
        return not self._leaving.issuperset(self._workers.values())

    async def close(self) -> None:
        """Take what workers still send, until they hang up or it takes too long."""
        if self._server is not None:
            await close_door(self._server)
        if self._workers:
            await asyncio.wait(tuple(self._workers), timeout=_PARTING_S)
        for task in tuple(self._workers):
            task.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        writer.write(frame(self._welcome()))
        writer.writelines(self._news)
        self._workers[task] = writer
        try:
            await self._listen(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # it ended; another one will come
        except (TooLong, msgspec.MsgspecError) as error:
            log.error("a worker does not speak as we do: %s", error)
        finally:
            del self._workers[task]
            self._leaving.discard(writer)
            writer.close()

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering: set[asyncio.Task[None]] = set()
        try:
            while True:
                message = TO_OFFICE.decode(await read_frame(reader))
                if isinstance(message, Told) and isinstance(message.note, messages.Leaving):
                    self._leaving.add(writer)
                elif isinstance(message, Told):
                    self._note(message.note)
                elif isinstance(message, Shared):
                    self._pass_on(message, writer)
                elif len(answering) >= MOST_QUESTIONS:
                    writer.write(frame(Failed(id=message.id, why="too many questions at once")))
                else:
                    task = asyncio.create_task(self._answer(message, writer))
                    answering.add(task)
                    task.add_done_callback(answering.discard)
        finally:
            for task in tuple(answering):
                task.cancel()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(asked.within_s):
                answer = await self._answer_to(asked.question)
            reply = frame(Answered(id=asked.id, answer=msgspec.Raw(encoded(answer))))
        except Exception as error:  # whatever failed costs this question its answer, nothing more
            if not isinstance(error, TimeoutError):
                log.exception("could not answer a worker's %s", type(asked.question).__name__)
            reply = frame(Failed(id=asked.id, why=f"{type(error).__name__} {error}"[:500]))
        if not writer.is_closing():
            writer.write(reply)
            with suppress(OSError):
                await writer.drain()

    async def _answer_to(self, question: Question) -> object:
        office = self._office
        match question:
            case messages.Mend(miss=miss, within_s=patience_s):
                return await office.mender.mend(miss, within_s=patience_s)
            case messages.Search(text=text, limit=limit):
                return await office.searcher.search(text, limit)
            case messages.CopyOf(url=url):
                return await office.reader.copy(url)
            case messages.PageAt(url=url):
                return await office.reader.page(url)
            case messages.VersionsOf(url=url):
                return await office.reader.versions(url)
            case messages.VersionOf(url=url, moment=moment):
                return await office.reader.version(url, moment)
            case messages.Count():
                return await office.reader.count()
            case messages.Remembered(link=link, ask=ask):
                return lighter(await office.archives.remembered(link, ask=ask))
            case messages.FromArchives(call=call, language=language, client=client):
                return await office.archives.answer(call, choose(language), client)

    def _note(self, note: Note) -> None:
        office = self._office
        match note:
            case messages.Record(record=record):
                office.misses.record(record)
            case messages.Chosen(miss_id=miss_id, number=number, client=client, network=network):
                office.misses.chosen(miss_id, number, client=client, network=network)
            case messages.Offer(page=page):
                office.harvester.offer(page)
            case messages.Moved(old=old, new=new):
                office.harvester.later(lambda: office.hints.note_redirect(old, new))
            case messages.Missed(miss_id=miss_id, client=client, link=link, ask=ask):
                office.archives.note(miss_id, client, link, ask=ask)
            case messages.Heard(at=at, answered=True):
                office.watching.line.heard(at)
            case messages.Heard(at=at):
                office.watching.line.silent(at)
            case messages.Counted(worker=worker, pid=pid, figures=figures, problems=problems):
                office.watching.counted(worker, pid, figures, problems)

    def _pass_on(self, shared: Shared, sender: asyncio.StreamWriter) -> None:
        data = frame(shared)
        for writer in self._workers.values():
            if writer is not sender and writer.transport.get_write_buffer_size() < _UNSENT_BYTES:
                writer.write(data)
        self._news.append(data)
        self._news_bytes += len(data)
        while len(self._news) > _RETOLD or self._news_bytes > _RETOLD_BYTES:
            self._news_bytes -= len(self._news.popleft())
