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
            protocol = kept.protocol
            if protocol is not None and not protocol.should_close and not has_arrived(kept.transport):
                return kept
            kept.close()
        return None
