"""`linkmend setup`: asks what a school has to decide, puts it in place, and checks the result."""

import asyncio
import getpass
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from proxy.admin.auth.passwords import FILE, Passwords, password_problem
from proxy.cli.doctor import examine_now, print_findings
from proxy.cli.options import Config, Data, print_line, settings_from
from proxy.doctor.machine import check_port
from proxy.doctor.model import FindingLevel, has_failed
from proxy.errors import LinkmendError, SettingsError
from proxy.settings import Settings, default_data, split_address
from proxy.setup import installation
from proxy.setup.choices import ALL_PRIVATE, NONE, network_settings, own_address, parent_problem
from proxy.setup.profiles import PROFILES
from proxy.setup.shipped import DEMO, shipped_file

_SYSTEM_SETTINGS = Path("/etc/linkmend/linkmend.toml")
_SYSTEM_DATA = Path("/var/lib/linkmend")


def setup(
    config: Config = None,
    data: Data = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where browsers find the proxy.")
    ] = None,
    clients: Annotated[
        list[str] | None,
        typer.Option("--clients", metavar="NETWORK", help="Network whose devices may use it; repeatable."),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A Squid to send requests to, http://HOST:PORT, or none."),
    ] = None,
    parent_https: Annotated[
        Literal["absolute", "connect"] | None,
        typer.Option(help="How https goes to the parent: absolute for squid-openssl, else connect."),
    ] = None,
    contact: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Who answers questions about the proxy.")
    ] = None,
    password_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The desk's password, in the first line; - for standard input."),
    ] = None,
    content: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT", help="Pages to begin with: demo, none, or what `import` takes; repeatable."
        ),
    ] = None,
    profile: Annotated[
        Literal["sd-card"] | None,
        typer.Option(help="Settings for a kind of machine: sd-card writes less often (Raspberry Pi)."),
    ] = None,
    service: Annotated[
        bool | None, typer.Option("--service/--no-service", help="Install a systemd service; needs root.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing settings file.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: options and defaults decide.")] = False,
) -> None:
    """Set up linkmend: asks a few questions on a terminal, writes settings, then runs `linkmend doctor`."""
    ask = _Questions(is_silent=yes or not sys.stdin.isatty())
    path, folder = _places(config, data, for_service=service)
    chosen = _existing(path, ask, force=force)
    chosen |= PROFILES[profile] if profile is not None else {}
    chosen |= _network(ask, chosen, listen, clients)
    chosen |= _parent(ask, chosen, parent, parent_https)
    who = ask.text("Who answers questions about the proxy (such as: Ms Achieng, room 12)", contact, "")
    chosen |= {"proxy.contact": who} if who else {}
    wants_service = _wants_service(ask, service)
    installation.write_settings(path, chosen)
    print_line(f"settings: {path}")
    _password(ask, folder, password_file)
    _certificate(folder)
    installation.note_done(folder)
    _content(ask, folder, path, content)
    if wants_service:
        _install_service(ask, path, folder)
    settings = settings_from(path)
    _next_steps(settings, path, folder, with_service=wants_service)
    findings = examine_now(settings, folder)
    print_findings(findings)
    if has_failed(findings):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Questions:
    """Asks on a terminal; else takes what was given, or the default."""

    is_silent: bool

    def text(self, question: str, given: str | None, default: str) -> str:
        if given is not None:
            return given
        return default if self.is_silent else str(typer.prompt(question, default=default)).strip()

    def yes_or_no(self, question: str, *, default: bool) -> bool:
        return default if self.is_silent else typer.confirm(question, default=default)


def _places(config: Path | None, data: Path | None, *, for_service: bool | None) -> tuple[Path, Path]:
    """Where settings and data go: the system's places for root, else the user's own."""
    if os.geteuid() == 0 and for_service is not False:
        return config or _SYSTEM_SETTINGS, (data or _SYSTEM_DATA).absolute()
    return config or installation.own_settings_path(), (data or default_data()).absolute()


def _existing(path: Path, ask: _Questions, *, force: bool) -> dict[str, Any]:
    """What an existing file sets. Raises LinkmendError when it is to stay as it is."""
    if not path.exists():
        return {}
    question = f"{path} exists. Write it anew? What it sets stays, unless you change it here"
    if not force and not ask.yes_or_no(question, default=False):
        raise LinkmendError(f"{path} exists: nothing was changed; --force replaces it (the old one is kept)")
    try:
        return installation.read_settings(path)
    except SettingsError as error:
        print_line(f"the old settings have an error, and are not used: {error}")
        return {}


def _network(
    ask: _Questions, chosen: dict[str, Any], listen: str | None, clients: list[str] | None
) -> dict[str, Any]:
    default = Settings().proxy
    if not ask.is_silent:
        print_line(f"This machine's address is {own_address() or 'not known'}.")
    while True:
        address = ask.text(
            "Address and port for browsers (0.0.0.0 stands for all addresses of this machine)",
            listen,
            chosen.get("proxy.listen", default.listen),
        )
        problem = _port_problem(address)
        if not problem or ask.is_silent or listen is not None:
            break
        print_line(problem)
    if problem:
        print_line(f"warning: {problem}")
    networks = " ".join(clients) if clients is not None else None
    given = ask.text(
        "Networks whose devices may use it, with spaces between (private: all private ones)",
        networks,
        ALL_PRIVATE,
    )
    return network_settings(address, given)  # a mistake is reported before the next question


def _port_problem(address: str) -> str:
    try:
        finding = check_port("proxy.listen", address, running=False)
    except SettingsError as error:
        return str(error)
    return "" if finding.level is FindingLevel.OK else f"{finding.found}; {finding.advice}"


def _parent(ask: _Questions, chosen: dict[str, Any], given: str | None, https: str | None) -> dict[str, Any]:
    """The parent and how https goes there, after it was probed."""
    while True:
        parent = ask.text(
            "Parent proxy (Squid), as http://HOST:PORT, or none",
            given,
            chosen.get("proxy.parent", "") or NONE,
        )
        if parent in ("", NONE):
            return {"proxy.parent": ""} if chosen.get("proxy.parent") else {}
        problem = asyncio.run(parent_problem(parent))
        print_line(f"{'warning: ' if problem else ''}parent {parent}: {problem or 'answers'}")
        if not problem or given is not None or ask.is_silent or ask.yes_or_no("Use it?", default=False):
            break
    if https is None:
        has_openssl = ask.yes_or_no(
            "Is it squid-openssl (does `squid -v` name --with-openssl)?",
            default=chosen.get("proxy.parent_https") == "absolute",
        )
        https = "absolute" if has_openssl else "connect"
    return {"proxy.parent": parent, "proxy.parent_https": https}


def _password(ask: _Questions, data: Path, file: Path | None) -> None:
    if file is not None:
        try:
            text = sys.stdin.readline() if str(file) == "-" else file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LinkmendError(f"{file}: cannot read the password: {error}") from error
        password = text.partition("\n")[0].rstrip("\r")
        if problem := password_problem(password, password):
            raise LinkmendError(f"{file}: {problem}")
    elif ask.is_silent or Passwords(data / FILE).load().password is not None:
        return
    else:
        password = _asked_password()
    if password:
        Passwords(data / FILE).set_password(password)
        print_line("password: set")


def _asked_password() -> str:
    """A password that is good enough, or "" for none."""
    while True:
        password = getpass.getpass(
            "Password of the desk (Enter: set it later, with the set-up code in the log): "
        )
        problem = password and password_problem(password, getpass.getpass("The same again: "))
        if not problem:
            return password
        print_line(problem)


def _certificate(data: Path) -> None:
    file, fingerprint = installation.make_certificate(data)
    print_line(f"certificate for devices: {file}\nSHA-256 {fingerprint}")


def _content(ask: _Questions, data: Path, config: Path, given: list[str] | None) -> None:
    question = "Pages to begin with: demo, none, or the path of a WARC, ZIM or folder"
    wanted = given if given is not None else [ask.text(question, None, NONE)]
    paths = [
        shipped_file(DEMO) if what == "demo" else Path(what) for what in wanted if what not in ("", NONE)
    ]
    if paths:
        from proxy.cli.import_ import import_

        import_(paths, config=config, data=data)


def _wants_service(ask: _Questions, given: bool | None) -> bool:
    if os.geteuid() != 0:
        if given:
            raise LinkmendError("--service needs root: a service has its own user")
        return False
    if given is not None:
        return given
    if installation.has_packaged_service():
        return True
    has_systemd = installation.UNITS.is_dir() and not ask.is_silent
    return has_systemd and ask.yes_or_no("Install a systemd service?", default=True)


def _install_service(ask: _Questions, config: Path, data: Path) -> None:
    installation.make_user()
    installation.give_to_user(data, config.with_name("rules.d"))
    if installation.has_packaged_service() and (config, data) == (_SYSTEM_SETTINGS, _SYSTEM_DATA):
        return
    unit = installation.UNITS / "linkmend.service"
    text = installation.service_text(installation.this_program(), config, data)
    is_other = unit.exists() and unit.read_text(encoding="utf-8") != text
    if is_other and not ask.yes_or_no(f"{unit} exists. Replace it?", default=False):
        print_line(f"service: {unit} was left as it is")
        return
    installation.write_service(unit, text)
    print_line(f"service: {unit}")


def _next_steps(settings: Settings, config: Path, data: Path, *, with_service: bool) -> None:
    host, port = split_address(settings.proxy.listen)
    if host in ("", "0.0.0.0", "::"):  # noqa: S104
        host = own_address() or "ADDRESS-OF-THIS-MACHINE"
    start = (
        "systemctl daemon-reload && systemctl enable linkmend && systemctl restart linkmend"
        if with_service
        else f"linkmend serve --config {config} --data {data}"
    )
    print_line(
        f"\nNext:\n  1. Start it:  {start}\n"
        f"  2. In a browser, set the HTTP and HTTPS proxy to {host}:{port}\n"
        "  3. Open http://linkmend.internal/ there, and install the certificate as it says\n"
        f"  4. Check:     linkmend doctor --config {config} --data {data}\n"
    )
