"""`linkmend rules`: checks the rules, and shows which rule applies to an address."""

from datetime import datetime
from typing import Annotated

import typer

from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.logs import one_line
from proxy.rules.folder import load, rules_folder
from proxy.rules.model import RuleFault, RulesError
from proxy.rules.trial import RuleTrial, TrialOutcome, local_time, trials
from repair.model import MissKind

rules = typer.Typer(help="Check and test the rules.", no_args_is_help=True)

_SHOWN = 20


@rules.command()
def check(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Check the rules. Prints one line per error and exits with code 1 if there are any."""
    folder = rules_folder(settings_from(config).rules.folder, data_from(data))
    faults: tuple[RuleFault, ...] = ()
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
            print_line(f"{folder}: {count} rules, no errors")
    if faults:
        raise typer.Exit(1)


@rules.command("test")
def try_(
    url: Annotated[str, typer.Argument(metavar="URL", help="The requested address.")],
    client: Annotated[str, typer.Option(metavar="IP", help="Client address.")] = "127.0.0.1",
    time: Annotated[
        str, typer.Option(metavar="T", help="Time: 10:30 or 2026-05-04T10:30; default: now.")
    ] = "",
    miss: Annotated[
        MissKind | None, typer.Option(help="Test the rules for a dead link of this kind.")
    ] = None,
    content_type: Annotated[str, typer.Option(metavar="TYPE", help="Content type of the response.")] = "",
    shown: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="How many rules that do not apply to show.")
    ] = _SHOWN,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show which rule applies to an address at each stage of a request, and why the earlier ones do not."""
    try:
        at = local_time(time, datetime.now().astimezone())
    except ValueError as error:
        raise typer.BadParameter(f"--time: expected 10:30 or 2026-05-04T10:30, got {time!r}") from error
    ruleset = load(rules_folder(settings_from(config).rules.folder, data_from(data)))
    try:
        found = trials(
            ruleset, url=url, client=client, at=at, miss=miss, content_type=content_type, shown=shown
        )
    except ValueError as error:
        raise typer.BadParameter(f"URL: {error}") from error
    for trial in found:
        if as_json:
            print_json(trial)
        else:
            _show(trial)


def _show(trial: RuleTrial) -> None:
    done = "no rule applies" if trial.outcome is None else _describe(trial.outcome)
    print_line(one_line(f"{trial.stage}: {done}"))
    for tried in trial.rules:
        if tried.fired and trial.more:
            print_line(f"  not    {trial.more} more rules; --limit shows them")
        verb = "fires " if tried.fired else "not   "
        print_line(one_line(f"  {verb} {tried.rule} ({tried.file}:{tried.line}): {tried.why}"))
    if trial.more and trial.outcome is None:
        print_line(f"  not    {trial.more} more rules; --limit shows them")


def _describe(outcome: TrialOutcome) -> str:
    extras = {
        "to": outcome.redirect_to,
        "archive": outcome.archive,
        "auto_follow": outcome.auto_follow,
        "budget_s": outcome.budget_s,
        "reason": outcome.reason,
    }
    details = ", ".join(f"{key} {value}" for key, value in extras.items() if value not in ("", None))
    return f"{outcome.action}{f' ({details})' if details else ''}"
