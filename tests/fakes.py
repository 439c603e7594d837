"""Stand-ins at the seams of the cache: a store in memory, a spool, a body server that only notes what it offers."""

from collections import defaultdict
from pathlib import Path

from proxy.messages import FileBody
from proxy.store.bodyserver import OneTimeBody
from proxy.store.memory import CachedEntry


class FakeClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


class FakeSpool:
    """Keeps what is written; a body over `file_over_bytes` comes back as a file."""

    def __init__(self, file_over_bytes):
        self.chunks = []
        self.abandoned = False
        self._file_over_bytes = file_over_bytes

    @property
    def size(self):
        return sum(map(len, self.chunks))

    def write(self, chunk):
        self.chunks.append(chunk)

    async def finish(self):
        if self.abandoned:
            return None
        body = b"".join(self.chunks)
        return FileBody(path=Path("spooled"), size=len(body)) if len(body) > self._file_over_bytes else body

    def abandon(self):
        self.abandoned = True


class FakeStore:
    """Responses by key in memory, replaced by equal `vary`, newest first; `on_disk` are some that are not."""

    def __init__(self, file_over_bytes=10**9):
        self.held = defaultdict(tuple)
        self.spools = []
        self._file_over_bytes = file_over_bytes
        self._in_memory = {}
        self.on_disk = {}

    def recall(self, key):
        return None

    def read_warm(self, key):
        return None

    def may_be_on_disk(self, key):
        return key in self.on_disk

    async def read(self, key):
        return CachedEntry(responses=self.on_disk.get(key, ()), cost=0)

    def get_cached(self, key):
        responses = self.held[key]
        if not responses or any(isinstance(response.body, FileBody) for response in responses):
            return None
        if self._in_memory.get(key) is None or self._in_memory[key].responses is not responses:
            self._in_memory[key] = CachedEntry(responses=responses, cost=0)
        return self._in_memory[key]

    def note_variant(self, key, stored):
        pass

    async def lookup(self, key):
        return self.held[key] or self.on_disk.get(key, ())

    async def put(self, key, response):
        others = tuple(stored for stored in self.held[key] if stored.vary != response.vary)
        self.held[key] = (response, *others)
        return True

    def put_soon(self, key, response, written):
        self.held[key] = (response,)
        written()
        return True

    async def remove(self, key):
        self.held[key] = ()

    def spool(self):
        self.spools.append(FakeSpool(self._file_over_bytes))
        return self.spools[-1]


class FakeBodyServer:
    """Offers everything under one address, unless the file is `gone`."""

    def __init__(self):
        self.offered = []
        self.gone = False

    async def offer(self, body, *, status, headers, start=0, stop=None):
        if self.gone:
            return None
        self.offered.append((body, status, start, stop))
        return OneTimeBody(host="127.0.0.1", port=4321, path="/offer")
