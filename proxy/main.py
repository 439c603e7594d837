"""The roof: the `linkmend` program, its commands, and how its errors end."""

import os
import sys

import typer

from proxy.commands.backup import backup, restore
from proxy.commands.desk import desk
from proxy.commands.devices import ca, pac
from proxy.commands.evaluate import evaluate
from proxy.commands.fetch import fetch
from proxy.commands.imports import import_
from proxy.commands.mementos import mementos
from proxy.commands.mend import mend
from proxy.commands.misses import misses
from proxy.commands.remove import remove
from proxy.commands.repairs import repairs
from proxy.commands.rules import rules
from proxy.commands.serve import serve
from proxy.commands.soft404 import soft404
from proxy.commands.tag import tag
from proxy.commands.terms import df, signature
from proxy.commands.train import train
from proxy.errors import LinkmendError
from repair.errors import RepairError

app = typer.Typer(
    name="linkmend",
    help="A caching proxy that answers a dead link with the page you meant, or the next best one.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(serve)
app.command("import")(import_)
app.command()(mend)
app.command()(mementos)
app.command()(soft404)
app.command()(evaluate)
app.command()(train)
app.add_typer(desk, name="desk")
app.add_typer(fetch, name="fetch")
app.command()(remove)
app.add_typer(misses, name="misses")
app.add_typer(repairs, name="repairs")
app.add_typer(rules, name="rules")
app.command()(tag)
app.command()(df)
app.command()(signature)
app.command()(ca)
app.command()(pac)
app.command()(backup)
app.command()(restore)


def run() -> None:
    """The entry point: errors that an operator can put right become one line on stderr and exit code 1."""
    os.umask(0o077)  # pages, misses and the CA's key are nobody else's business on this machine
    try:
        app()
    except (LinkmendError, RepairError) as error:
        sys.stderr.write(f"linkmend: {error}\n")
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(1)  # whoever read our output has seen enough


if __name__ == "__main__":
    run()
