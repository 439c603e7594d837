"""Connections of the outgoing client: none is used again on which something has come that nobody asked for.

aiohttp keeps what comes after a response, and takes it for the response to the next request: a page would be saved
under another's address.
"""

from typing import Any

import aiohttp

from proxy.http.arrivals import has_arrived


class CleanConnector(aiohttp.TCPConnector):
    """aiohttp's connector, which closes such connections."""

    async def _get(self, key: Any, traces: Any) -> Any:
        while (kept := await super()._get(key, traces)) is not None:
            if _is_clean(kept.protocol):
                return kept
            kept.close()
        return None


def _is_clean(protocol: Any) -> bool:
    """Whether a kept connection has nothing left over: what aiohttp has taken in, or the system holds."""
    return (
        protocol is not None
        and protocol.transport is not None
        and not protocol.should_close
        and not has_arrived(protocol.transport)
    )
