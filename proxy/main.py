"""The roof: the `linkmend` program, and how its errors end. Its commands are in proxy/cli/commands.py."""

import os
import sys
from typing import Annotated

import typer

from proxy.cli.commands import LazyGroup
from proxy.errors import LinkmendError
from proxy.version import version
from repair.errors import RepairError

app = typer.Typer(
    name="linkmend",
    cls=LazyGroup,
    help="A caching proxy that answers dead links with a saved copy or the best matching pages.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"linkmend {version()}\n")
        raise typer.Exit


@app.callback()
def _linkmend(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A caching proxy that answers a dead link with the page you meant, or the next best one."""


def run() -> None:
    """The entry point: errors that an operator can put right become one line on stderr and exit code 1."""
    os.umask(0o077)  # pages, misses and the CA's key are nobody else's business on this machine
    try:
        app(prog_name="linkmend")
    except (LinkmendError, RepairError) as error:
        sys.stderr.write(f"linkmend: {error}\n")
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)  # the program that read our output has closed the pipe


if __name__ == "__main__":
    run()
