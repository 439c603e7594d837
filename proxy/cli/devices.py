"""`linkmend ca` and `linkmend pac`: the certificate and the proxy configuration for a school's devices."""

import sys
from typing import Annotated

import typer

from proxy.cli.options import Config, Data, data_from, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.portal.pac import pac_file
from proxy.settings import split_address


def ca(
    path: Annotated[bool, typer.Option("--path", help="Print the path of the file instead.")] = False,
    data: Data = None,
    config: Config = None,
) -> None:
    """Print the CA certificate that devices must trust (PEM), without its private key."""
    file = data_from(data) / "ca" / "mitmproxy-ca-cert.pem"
    if not file.is_file():
        raise LinkmendError("no certificate yet: `linkmend serve` creates one when it first starts")
    print_line(str(file)) if path else sys.stdout.write(file.read_text(encoding="ascii"))


def pac(
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address at which devices reach the proxy; default: proxy.public, else proxy.listen. "
            "With several, each host has one of them that is asked first.",
        ),
    ] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Print a proxy auto-configuration (PAC) file for browsers."""
    known = settings_from(config).proxy
    proxies = [split_address(each) for each in proxy or [known.public or known.listen]]
    for host, port in proxies:
        if host in ("", "0.0.0.0", "::"):  # noqa: S104 - the address to refuse, not one to bind
            raise LinkmendError(
                f"devices cannot reach {host or '*'}: set the proxy's address with --proxy HOST:{port}"
            )
    sys.stdout.write(pac_file(proxies))
