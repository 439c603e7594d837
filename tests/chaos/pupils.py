"""The class: each pupil browses with a cookie of its own, over http and https, on old and new connections."""

import asyncio
import contextlib
import random
import ssl
from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.judge import Exchange, Judge
from tests.chaos.lessons import PAGES
from tests.chaos.wire import Line, Unanswered
from tests.integration.client import NAVIGATION

_KINDS = {"page": 40, "picture": 20, "own": 14, "lost": 10, "large": 5, "forbidden": 3, "loop": 2, "echo": 3}
_HABITS = {"ask": 88, "head": 4, "strange": 4, "leave": 2, "babble": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a pupil sits, and what is within its reach: sites (http first), sites with bad certificates."""

    proxy_port: int
    tls: ssl.SSLContext
    sites: tuple[str, ...]
    bad_sites: tuple[str, ...]
    patience_s: float


@dataclass(slots=True, kw_only=True)
class Pupil:
    number: int
    place: Place
    judge: Judge
    luck: random.Random
    asked: Counter[str] = field(default_factory=Counter)
    _lines: dict[str, Line] = field(default_factory=dict)

    @property
    def who(self) -> str:
        return f"pupil{self.number}"

    async def browse(self) -> None:
        """Until cancelled."""
        try:
            while True:
                habit = self.luck.choices(list(_HABITS), list(_HABITS.values()))[0]
                await getattr(self, f"_{habit}")()
                await asyncio.sleep(self.luck.expovariate(4))
        finally:
            for line in self._lines.values():
                line.close()

    async def _ask(self, method: str = "GET") -> None:
        site = self.luck.choice(self.place.sites)
        kind = self.luck.choices(list(_KINDS), list(_KINDS.values()))[0]
        # A few pages are everybody's favourites.
        number = int(min(self.luck.expovariate(6), 0.999) * PAGES)
        path = f"/{kind}/{number}"
        body = f"{self.who} {self.luck.random()}".encode() if kind == "echo" else b""
        await self._exchange(site, path, "POST" if body else method, body)

    async def _head(self) -> None:
        await self._ask("HEAD")

    async def _strange(self) -> None:
        """A name that nobody has, or a site whose certificate is not to be trusted."""
        unknown = f"http://no-such-{self.luck.randrange(30)}.chaos.invalid"
        site = self.luck.choice((unknown, *self.place.bad_sites))
        await self._exchange(site, f"/bad/{self.luck.randrange(9)}", "GET", b"")

    async def _leave(self) -> None:
        """Hang up in the middle of a large page."""
        line = self._line(self.place.sites[0], fresh=True)
        with contextlib.suppress(OSError, Unanswered):  # a timeout is an OSError
            async with asyncio.timeout(self.luck.random() / 5):
                await line.ask(f"{self.place.sites[0]}/large/{self.luck.randrange(9)}", {})
        line.close()

    async def _babble(self) -> None:
        """What no browser would send; whatever comes back, the proxy must hang up in time."""
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
        is_page = self.luck.random() < 0.6
        headers = {"Cookie": f"who={self.who}", **(NAVIGATION if is_page else {"Accept": "*/*"})}
        if self.luck.random() < 0.5:
            headers["Accept-Encoding"] = "gzip"
        if self.luck.random() < 0.05:
            headers["Cache-Control"] = "no-cache"
        if not path.startswith("/own/") and self.luck.random() < 0.4:
            del headers["Cookie"]
        line = self._line(site, fresh=self.luck.random() < 0.2)
        exchange = Exchange(
            url=site + path,
            path=path,
            method=method,
            who=self.who,
            began=asyncio.get_running_loop().time(),
        )
        self.asked[path.split("/")[1]] += 1
        try:
            async with asyncio.timeout(self.place.patience_s):
                answer = await line.ask(exchange.url, headers, method=method, body=body)
        except TimeoutError:
            self.judge.hung(exchange, has_begun=line.has_begun)
            line.close()
        except (OSError, Unanswered) as error:
            self.judge.unanswered(exchange, repr(error))
            line.close()
        else:
            if body and answer.status == 200 and answer.body != body:
                self.judge.complain(f"an echo of something else: {exchange}: {answer.body[:80]!r}")
            elif not (body and answer.status == 200):
                self.judge.answered(exchange, answer)

    def _line(self, site: str, *, fresh: bool) -> Line:
        tunnel_to = site.removeprefix("https://") if site.startswith("https://") else ""
        line = self._lines.get(tunnel_to)
        if line is None or fresh:
            if line is not None:
                line.close()
            line = self._lines[tunnel_to] = Line(
                proxy_port=self.place.proxy_port,
                source=f"127.0.1.{self.number + 1}",
                tls=self.place.tls,
                tunnel_to=tunnel_to,
            )
        return line
