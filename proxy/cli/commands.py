"""The table of commands: names, modules, and the lines in `linkmend --help`.

A command's module is imported only when the command is run, or when its own help or completion is requested. So
`linkmend --help` is fast, and no command waits for imports of others. For that reason the help lines are repeated
here; a test compares them with the commands' own.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

COMMANDS = {
    # name: where it is, as module:name in this package; its help line
    "serve": (
        "serve:serve",
        "Run the proxy until it is told to stop (SIGTERM, Ctrl-C); SIGHUP reads the settings again.",
    ),
    "import": (
        "import_:import_",
        "Import pages into the collection and keep them permanently; safe while the proxy runs.",
    ),
    "export": (
        "export:export",
        "Export saved pages with their pictures, topics and links as one file; private pages are left out.",
    ),
    "packs": ("packs:packs", "List the packs that were imported: who sent them, and under which terms."),
    "mend": ("mend:mend", "List the saved pages that can replace a dead link."),
    "mementos": ("mementos:mementos", "List the archived versions (mementos) of an address in all archives."),
    "soft404": ("soft404:soft404", "Detect error pages that were sent with status 200 (soft 404)."),
    "evaluate": (
        "evaluate:evaluate",
        "Measure repair quality on links whose targets are known.",
    ),
    "train": ("train:train", "Train the ranking model on pseudo-broken links. Takes minutes."),
    "desk": ("admin:desk", "Manage the desk's password and API tokens."),
    "users": ("users:users", "Manage the accounts of teachers, reviewers and admins, and class codes."),
    "fetch": ("fetch:fetch", "Manage the fetch queue of the proxy."),
    "topics": ("topics:topics", "Manage the topics that the school teaches."),
    "crawl": (
        "crawl:crawl",
        "Gather pages for topics, politely; safe while the proxy runs, and after `kill -9`.",
    ),
    "grow": (
        "grow:grow",
        "Fetch what users missed: the pages themselves, archived copies, related pages; safe while the proxy runs.",
    ),
    "remove": (
        "remove:remove",
        "Remove pages from the cache, the collection and all records about them. Backups still contain them.",
    ),
    "misses": ("misses:misses", "Review the log of dead links."),
    "report": (
        "report:report",
        "Report on a week or a month: what was missed, repaired, fetched and saved, and what is lacking.",
    ),
    "repairs": ("repairs:repairs", "Share which pages users chose for dead links with other schools."),
    "district": (
        "district:district",
        "Share what users missed and chose with the other schools of a district.",
    ),
    "rules": ("rules:rules", "Check and test the rules."),
    "tag": ("tag:tag", "Tag a missing page with its subject, to improve its repair page."),
    "df": (
        "terms:df",
        "How many saved pages contain a word (df), and how often it occurs in total (cf). Words are stemmed.",
    ),
    "signature": (
        "terms:signature",
        "Print the lexical signature of a saved page: the terms with the highest tf-idf, to find it again.",
    ),
    "ca": ("devices:ca", "Print the CA certificate that devices must trust (PEM), without its private key."),
    "pac": ("devices:pac", "Print a proxy auto-configuration (PAC) file for browsers."),
    "setup": (
        "setup:setup",
        "Set up linkmend: asks a few questions on a terminal, writes settings, then runs `linkmend doctor`.",
    ),
    "doctor": (
        "doctor:doctor",
        "Check the installation, and say what to do about each problem. Changes nothing; exits with 1 on a failure.",
    ),
    "status": (
        "doctor:status",
        "Show how the running linkmend is doing. Exits with 1 if it does not run, or does not serve users.",
    ),
    "backup": (
        "backup:backup",
        "Back up pages, logs, rules and settings to one file; safe while the proxy runs.",
    ),
    "restore": (
        "backup:restore",
        "Restore a backup after checking every file, then rebuild the index. Stop linkmend first.",
    ),
}


class LazyGroup(TyperGroup):
    """The commands of the table: listed by their help lines, loaded when chosen."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, (_, line) in COMMANDS.items():
            self.add_command(TyperCommand(name=name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name, for the command line and for shell completion."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name and listed else None, rest


def load_command(name: str) -> Any:
    """A command, or group of commands, with its options; imports its module."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found: typer.Typer | Callable[..., None] = getattr(import_module(f"proxy.cli.{module}"), attribute)
    around = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    return get_group(around).commands[name]
