"""`linkmend serve`: runs the proxy."""

from typing import Annotated

import typer

from proxy import logs
from proxy.cli.options import Config, Data, data_from, settings_from
from proxy.interpreter import restart_without_asserts
from proxy.settings import Settings, default_path


def serve(
    config: Config = None,
    data: Data = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where browsers find the proxy.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="regular, transparent, reverse:URL or upstream:URL.")
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="URL", help="A Squid to send every request to, http://HOST:PORT.")
    ] = None,
    offline: Annotated[bool | None, typer.Option("--offline", help="Serve only what is held.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes that carry traffic; 0 for one per core, up to 4."),
    ] = None,
) -> None:
    """Run the proxy until it is told to stop (SIGTERM, Ctrl-C); SIGHUP reads the settings again."""
    restart_without_asserts()  # where the program was not started by proxy.start
    overrides = {
        "proxy.listen": listen,
        "proxy.mode": mode,
        "proxy.parent": parent,
        "proxy.offline": offline,
        "proxy.workers": workers,
    }

    def read_settings() -> Settings:
        return settings_from(config, overrides)

    settings = read_settings()
    logs.set_up(settings.log)
    # Half a second of imports that no other command needs.
    from proxy.app import topology

    topology.serve(settings, data_from(data), read_settings, config or default_path())
