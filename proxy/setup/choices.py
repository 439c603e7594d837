"""What a school decides when it sets linkmend up: `linkmend setup` and the desk's first visit ask for the same."""

import socket
from collections.abc import Sequence
from typing import Any

from proxy.errors import SettingsError
from proxy.http.parentprobe import ParentState, probe_parent
from proxy.settings import Settings, load

NONE = "none"
ALL_PRIVATE = "private"
_THIS_MACHINE = ("127.0.0.0/8", "::1/128")


def network_settings(address: str, networks: str) -> dict[str, Any]:
    """Where browsers find the proxy and who may use it; "private" stands for all private networks.

    Raises SettingsError for a mistake.
    """
    wanted = [] if networks.strip() in ("", ALL_PRIVATE) else networks.replace(",", " ").split()
    chosen: dict[str, Any] = {"proxy.listen": address} if address != Settings().proxy.listen else {}
    if wanted:
        chosen["proxy.clients"] = (*_THIS_MACHINE, *wanted)
    load(environment={}, overrides=chosen)
    return chosen


def shown_networks(clients: Sequence[str]) -> str:
    """The networks of a setting, as `network_settings` takes them."""
    if tuple(clients) == Settings().proxy.clients:
        return ALL_PRIVATE
    return " ".join(each for each in clients if each not in _THIS_MACHINE)


async def parent_problem(parent: str) -> str:
    """Why a parent proxy cannot be used; "" when it answers."""
    try:
        probe = await probe_parent(parent)
    except SettingsError as error:
        return str(error)
    words = {ParentState.DOWN: "does not answer: ", ParentState.WRONG: "is no proxy: "}
    return f"{words.get(probe.state, '')}{probe.detail}" if probe.detail else ""


def own_address() -> str:
    """The address from which this machine would reach the internet; "" when it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return ""
