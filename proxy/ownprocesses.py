"""Other processes of linkmend, started by a running one with the settings of the moment."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping

from proxy.settings import Settings, as_environment

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "TMPDIR", "LD_LIBRARY_PATH")


def environment_for(settings: Settings) -> Mapping[str, str]:
    """The environment from which a command reads these settings; nothing else of ours is in it."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | as_environment(settings)


async def follow_output(process: asyncio.subprocess.Process, most_bytes: int) -> AsyncIterator[str]:
    """The end of what a process has said so far, whenever it says more, until it says nothing more."""
    said = b""
    while process.stdout is not None and (piece := await process.stdout.read(65_536)):
        said = (said + piece)[-most_bytes:]
        yield said.decode("utf-8", "replace")
