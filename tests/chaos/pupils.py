"""The class: each pupil browses with its own cookie, over http and https, on kept and new connections."""

import asyncio
import contextlib
import html
import random
import re
import ssl
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.judge import Exchange, Judge
from tests.chaos.lessons import PAGES, TOPICS
from tests.chaos.wire import Answer, Line, Unanswered
from tests.integration.client import MACHINE, NAVIGATION, PORTAL

_KINDS = {"page": 40, "picture": 20, "own": 14, "lost": 10, "large": 5, "forbidden": 3, "loop": 2, "echo": 3}
_HABITS = {"ask": 86, "head": 4, "strange": 4, "leave": 2, "babble": 2, "search": 2}
_PAUSES_PER_S = 2.5
_LATE = re.compile(rb'data-next="([^"]+)"')
_REMEMBERED = 40
_SULKS_S = 1.0  # after a broken connection; else a proxy that is down would get the most requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a pupil can reach: sites (http first) and sites with bad certificates; and its timeout."""

    sites: tuple[str, ...]
    bad_sites: tuple[str, ...]
    patience_s: float


@dataclass(slots=True, kw_only=True)
class Pupil:
    number: int
    place: Place
    proxy_port: int
    tls: ssl.SSLContext
    judge: Judge
    luck: random.Random
    asked: Counter[str] = field(default_factory=Counter)
    _lines: dict[str, Line] = field(default_factory=dict)
    _tags: dict[str, str] = field(default_factory=dict)
    """What the pupil still has of some pages, by address."""

    @property
    def who(self) -> str:
        return f"pupil{self.number}"

    async def browse(self) -> None:
        """Browse until cancelled."""
        try:
            while True:
                habit = self.luck.choices(list(_HABITS), list(_HABITS.values()))[0]
                await getattr(self, f"_{habit}")()
                await asyncio.sleep(self.luck.expovariate(_PAUSES_PER_S))
        finally:
            for line in self._lines.values():
                line.close()

    async def _ask(self, method: str = "GET") -> None:
        site = self.luck.choice(self.place.sites)
        kind = self.luck.choices(list(_KINDS), list(_KINDS.values()))[0]
        # A few pages are very popular.
        number = int(min(self.luck.expovariate(6), 0.999) * PAGES)
        path = f"/{kind}/{number % 12 if kind == 'large' else number}"
        body = f"{self.who} {self.luck.random()}".encode() if kind == "echo" else b""
        await self._exchange(site, path, "POST" if body else method, body)

    async def _head(self) -> None:
        await self._ask("HEAD")

    async def _strange(self) -> None:
        """Ask for an unknown host, or a site with an untrusted certificate."""
        unknown = f"http://no-such-{self.luck.randrange(30)}.chaos.invalid"
        site = self.luck.choice((unknown, *self.place.bad_sites))
        await self._exchange(site, f"/bad/{self.luck.randrange(9)}", "GET", b"")

    async def _search(self) -> None:
        """Search the saved pages; words of personal pages must not be found."""
        await self._exchange(PORTAL, f"/search?q={self.luck.choice((*TOPICS, self.who))}", "GET", b"")

    async def _leave(self) -> None:
        """Hang up in the middle of a large page."""
        line = self._line(self.place.sites[0], fresh=True)
        with contextlib.suppress(OSError, Unanswered):  # a timeout is an OSError
            async with asyncio.timeout(self.luck.random() / 5):
                await line.ask(f"{self.place.sites[0]}/large/{self.luck.randrange(9)}", {})
        line.close()

    async def _babble(self) -> None:
        """Send garbage; whatever comes back, the proxy must hang up in time."""
        line = self._line(self.place.sites[0], fresh=True)
        noise = self.luck.randbytes(300) + b"\r\n\r\n"
        words = (noise, b"GET http://half", b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n" + noise)
        try:
            async with asyncio.timeout(self.place.patience_s):
                await line.send_raw(self.luck.choice(words))
        except TimeoutError:
            self.judge.complain(f"{self.who} babbles, and nobody hangs up")
        except OSError:
            pass
        line.close()

    async def _exchange(self, site: str, path: str, method: str, body: bytes) -> None:
        exchange = Exchange(
            url=site + path,
            path=path,
            method=method,
            who=self.who,
            began=time.monotonic(),
            headers=self._headers(site + path, path, method),
        )
        answer = await self._answer(exchange, self._line(site, fresh=self.luck.random() < 0.2), body)
        if answer is None:
            return
        if body and answer.status == 200 and answer.body != body:
            self.judge.complain(f"an echo of something else, {answer.body[:80]!r}", exchange)
        self.judge.answered(exchange, answer)
        self._remember(exchange, answer)
        if (late := _LATE.search(answer.body)) and self.luck.random() < 0.3:
            await self._look_again(site, html.unescape(late[1].decode()))

    async def _look_again(self, site: str, path: str) -> None:
        """Ask what archives have answered, as the script of a repair page does."""
        path = path.removeprefix(site)
        if path.startswith("/"):
            await self._exchange(site, path, "GET", b"")

    async def _answer(self, exchange: Exchange, line: Line, body: bytes) -> Answer | None:
        headers, method = exchange.headers, exchange.method
        self.asked[exchange.kind] += 1
        try:
            async with asyncio.timeout(self.place.patience_s):
                return await line.ask(exchange.url, headers, method=method, body=body)
        except TimeoutError:
            self.judge.hung(exchange, has_begun=line.has_begun)
            line.close()
        except (OSError, Unanswered) as error:
            self.judge.unanswered(exchange, repr(error))
            line.close()
            await asyncio.sleep(_SULKS_S)
        return None

    def _headers(self, url: str, path: str, method: str) -> dict[str, str]:
        luck = self.luck.random
        form = self.luck.choices((NAVIGATION, {"Accept": "*/*"}, MACHINE), (60, 36, 4))[0]
        headers = {"Cookie": f"who={self.who}", **form}
        if luck() < 0.5:
            headers["Accept-Encoding"] = "gzip"
        if luck() < 0.05:
            headers["Cache-Control"] = "no-cache"
        if not path.startswith("/own/") and luck() < 0.4:
            del headers["Cookie"]
        if path.startswith(("/page/", "/large/")) and method == "GET":
            if luck() < 0.1:
                headers["Range"] = "bytes=1000-1999"
            elif url in self._tags and luck() < 0.5:
                headers["If-None-Match"] = self._tags[url]
        return headers

    def _remember(self, exchange: Exchange, answer: Answer) -> None:
        if exchange.kind in ("page", "large") and answer.status == 200 and exchange.method == "GET":
            self._tags.pop(exchange.url, None)
            self._tags[exchange.url] = answer.get("etag")
            if len(self._tags) > _REMEMBERED:
                del self._tags[next(iter(self._tags))]

    def _line(self, site: str, *, fresh: bool) -> Line:
        tunnel_to = site.removeprefix("https://") if site.startswith("https://") else ""
        line = self._lines.get(tunnel_to)
        if line is None or fresh:
            if line is not None:
                line.close()
            line = self._lines[tunnel_to] = Line(
                proxy_port=self.proxy_port,
                source=f"127.0.1.{self.number + 1}",
                tls=self.tls,
                tunnel_to=tunnel_to,
            )
        return line
