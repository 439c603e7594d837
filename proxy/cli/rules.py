"""`linkmend rules`: are the rules good, and which one fires."""

from datetime import datetime
from typing import Annotated

import typer

from proxy.commands.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.logs import one_line
from proxy.rules.folder import load, rules_folder
from proxy.rules.model import Fault, RulesError
from proxy.rules.trial import Outcome, Trial, local_time, trials
from repair.model import MissKind

rules = typer.Typer(help="Check and try the admin's rules.", no_args_is_help=True)

_SHOWN = 20


@rules.command()
def check(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Whether the rules are good; if not, what is wrong, a line each, and exit code 1."""
    folder = rules_folder(settings_from(config).rules.folder, data_from(data))
    faults: tuple[Fault, ...] = ()
    count = 0
    try:
        count = len(load(folder).rules)
    except RulesError as error:
        faults = error.faults
    if as_json:
        print_json({"folder": str(folder), "rules": count, "faults": faults})
    else:
        for fault in faults:
            print_line(one_line(str(fault)))
        if not faults:
            print_line(f"{folder}: {count} rules, all good")
    if faults:
        raise typer.Exit(1)


@rules.command("test")
def try_(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address that is asked for.")],
    client: Annotated[str, typer.Option(metavar="IP", help="Who asks.")] = "127.0.0.1",
    time: Annotated[
        str, typer.Option(metavar="T", help="When: 10:30, or 2026-05-04T10:30; now, if left out.")
    ] = "",
    miss: Annotated[MissKind | None, typer.Option(help="The kind of miss that the answer is.")] = None,
    content_type: Annotated[str, typer.Option(metavar="TYPE", help="The content type of the answer.")] = "",
    shown: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="How many rules that did not fire are shown.")
    ] = _SHOWN,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Which rule fires for an address, at each moment that rules are asked, and why not the ones before it."""
    try:
        at = local_time(time, datetime.now().astimezone())
    except ValueError as error:
        raise typer.BadParameter(f"--time: expected 10:30 or 2026-05-04T10:30, got {time!r}") from error
    book = load(rules_folder(settings_from(config).rules.folder, data_from(data)))
    try:
        found = trials(book, url=url, client=client, at=at, miss=miss, content_type=content_type, shown=shown)
    except ValueError as error:
        raise typer.BadParameter(f"URL: {error}") from error
    for trial in found:
        if as_json:
            print_json(trial)
        else:
            _show(trial)


def _show(trial: Trial) -> None:
    done = "no rule fires" if trial.outcome is None else _told(trial.outcome)
    print_line(one_line(f"{trial.stage}: {done}"))
    for tried in trial.rules:
        if tried.fired and trial.more:
            print_line(f"  not    {trial.more} more rules; --limit shows them")
        verb = "fires " if tried.fired else "not   "
        print_line(one_line(f"  {verb} {tried.rule} ({tried.file}:{tried.line}): {tried.why}"))
    if trial.more and trial.outcome is None:
        print_line(f"  not    {trial.more} more rules; --limit shows them")


def _told(outcome: Outcome) -> str:
    extras = {
        "to": outcome.redirect_to,
        "archive": outcome.archive,
        "auto_follow": outcome.auto_follow,
        "budget_s": outcome.budget_s,
        "reason": outcome.reason,
    }
    told = ", ".join(f"{key} {value}" for key, value in extras.items() if value not in ("", None))
    return f"{outcome.action}{f' ({told})' if told else ''}"
