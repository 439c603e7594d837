"""One typed tree of settings out of linkmend.toml, the environment and the command line.

Precedence: command line, then `LINKMEND_SECTION_KEY` in the environment, then the file, then the
defaults below. A wrong or unknown key is an error that names the file, the key and what was expected.
"""

import ipaddress
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from proxy.errors import SettingsError
from proxy.networknames import parse_network_names
from proxy.nighthours import NightHours
from proxy.ports import parse_ports
from repair.memento.archive import parse_archives
from repair.settings import ArchivesSettings, CollectionSettings, RepairSettings, Soft404Settings

SEARCH_TERMS = "{searchTerms}"
"""What an OpenSearch template has in place of the words."""
LOCAL_NETWORKS = (
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """How the proxy listens, whom it serves and how it reaches the web: `[proxy]`."""

    listen: str = "0.0.0.0:8080"
    """Address and port of the proxy."""
    workers: int = 0
    """Number of worker processes, besides one backend process for the stores and repairs. 0: one per core, up to
    4."""
    mode: str = "regular"
    """regular, transparent, reverse:URL or upstream:URL, as mitmproxy writes them."""
    parent: str = ""
    """Parent proxy (Squid) for all requests, such as http://127.0.0.1:3128; empty for none."""
    parent_https: str = "absolute"
    """How https requests go to the parent: absolute (squid-openssl, which caches them) or connect (plain squid)."""
    offline: bool = False
    """Serve only cached and saved pages; contact no site."""
    clients: tuple[str, ...] = LOCAL_NETWORKS
    """Networks whose clients may use the proxy."""
    balancers: tuple[str, ...] = ()
    """Networks of load balancers that say by the PROXY protocol which client each connection is from. Connections
    from there without it are closed. Nobody else can say so."""
    reach: tuple[str, ...] = ()
    """Networks that may be reached besides the internet and private ones. This machine itself (127.0.0.0/8, ::1),
    link-local addresses, multicast and cloud metadata addresses are refused unless you list them here; proxy.parent,
    the archives you list and the target of reverse mode are always allowed. See docs/security.md."""
    ports: tuple[str, ...] = ("80", "443", "591", "777", "1025-65535")
    """Allowed ports of sites: web ports and unprivileged ports. Other ports below 1025 belong to mail, file sharing
    and the like, which a hostile web page could attack."""
    connect_ports: tuple[str, ...] = ("80", "443", "4443", "8000", "8080", "8443", "8888", "9443", "10443")
    """Allowed ports for CONNECT: https, and plain web sockets, which browsers also tunnel. Add the port of an https
    server that you need; a wide range turns the proxy into a tunnel for anything."""
    connections_per_client: int = 1000
    """Maximum connections per client address; a browser opens up to 32, and a class behind one router is one address.
    Never more than a sixth of the open-file limit; 0 for exactly that."""
    request_timeout_s: float = 30.0
    """Timeout for the headers of a request, and for each 15 kB of an upload."""
    keep_alive_s: float = 120.0
    """How long a client connection may be idle between two requests."""
    http2: bool = False
    """Offer HTTP/2 to browsers and origins; costs memory on large downloads, gains little on a LAN."""
    verify_origins: bool = True
    """Check the certificates of https sites."""
    trusted_ca: str = ""
    """PEM file with additional certificate authorities to trust, such as a web filter's; empty for none."""
    connect_timeout_s: float = 10.0
    """Timeout for resolving a name and opening a connection."""
    first_byte_timeout_s: float = 30.0
    """Timeout for the first byte of a page that a person or a repair waits for."""
    idle_timeout_s: float = 600.0
    """Timeout for everything else, such as a script's long poll."""
    stop_grace_s: float = 10.0
    """How long responses in flight may take to finish when linkmend stops."""
    hang_timeout_s: float = 60.0
    """A worker or backend that hangs for so long is replaced; 0 for never."""
    ballast_bytes: int = 24 * 1024 * 1024
    """Disk reserve in the data folder, so that linkmend can start on a full disk; 0 for none."""
    detour: bool = True
    """On plain http, redirect browsers through http://linkmend.internal/ to repair pages, so that the site's scripts
    cannot read them. Set false where browsers cannot reach that address."""
    pass_through: tuple[str, ...] = ("shipped",)
    """Files with sites whose secure connections linkmend does not decrypt (sign-in, banks, health, system updates),
    one domain per line, with a leading dot also its subdomains; "shipped" is the built-in list. [] decrypts all."""
    public: str = ""
    """Address at which devices reach the proxy (HOST:PORT), for the PAC file; empty for the address of the
    request."""
    contact: str = ""
    """Who answers questions about the proxy, such as "Ms Achieng, room 12"; shown on the privacy page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """The shared HTTP cache: `[cache]`."""

    max_bytes: int = 10 * 1024**3
    """Maximum size on disk; the least recently used responses are removed first, pinned ones never."""
    memory_bytes: int = 64 * 1024**2
    """Size of the memory cache for small, frequently used responses; 0 for none."""
    stream_over_bytes: int = 1024**2
    """Bodies larger than this are streamed, not held in memory."""
    max_body_bytes: int = 512 * 1024**2
    """Bodies larger than this are not stored."""
    heuristic_fraction: float = 0.1
    """Without explicit freshness: fresh for this fraction of the time since Last-Modified ..."""
    heuristic_max_s: int = 86_400
    """... but at most this long."""
    collapse_wait_s: float = 20.0
    """How long a request waits for an identical request in flight (request collapsing)."""
    harmless_fields: tuple[str, ...] = ("Other", "Req-Num", "Test-ID", "Test-Name")
    """Request fields that do not change a response, besides those that browsers send. The response to a request with
    any other field is not stored. The defaults are those of the public cache test suite, which no site reads. A proxy
    between browsers and linkmend may add some (X-Forwarded-For, Via)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSettings:
    """What passing pages feed the collection: `[harvest]`."""

    enabled: bool = True
    """Save shareable pages that pass through the proxy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalSettings:
    """The pages at http://linkmend.internal/ and saved copies: `[portal]`."""

    least_readers: int = 5
    """Pages that users open are listed there (newest, most read, sites) once so many devices have opened them on one
    day; 0 for never. Pages that were imported, fetched or crawled are always listed."""
    mark_links: bool = True
    """In saved copies, mark links that lead nowhere, and lead links with a good replacement straight to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissesSettings:
    """The log of missed pages: `[misses]`."""

    retention_days: int = 90
    """How long entries are kept."""
    networks: tuple[str, ...] = ()
    """Names for networks, such as "Room 12 = 10.0.12.0/24"; reports then count by them. The log gets the name, not
    the address."""
    log_bytes: int = 50 * 1024**2
    """Size at which misses.jsonl is rotated; one older file is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesSettings:
    """The admin's rules: `[rules]`."""

    folder: str = ""
    """Folder of the rules; empty for rules.d beside the settings file, or else in the data folder."""
    versions: int = 100
    """How many edits made at the desk are kept for undo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    """The admin's desk: `[desk]`."""

    enabled: bool = True
    """Run the desk."""
    listen: str = "127.0.0.1:8081"
    """Address and port of the desk; by default reachable only from this machine."""
    through_proxy: bool = True
    """Also show it at http://linkmend.internal/admin to browsers that use the proxy."""
    clients: tuple[str, ...] = ()
    """Networks that may open the desk, such as "10.0.5.0/24"; empty for all that can reach it."""
    names: tuple[str, ...] = ()
    """Host names that the desk's port answers to, besides localhost and IP addresses."""
    session_hours: float = 8.0
    """How long a login lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachSettings:
    """The teachers' pages: `[teach]`."""

    enabled: bool = True
    """Show http://linkmend.internal/teach, and lesson pages at http://linkmend.internal/l/CODE; needs the desk."""
    https: bool = True
    """Teachers log in over https only, so that nobody on the network reads their passwords. With false, a device that
    does not trust linkmend's certificate can log in over plain http, and is warned."""
    max_links: int = 200
    """Links checked in one lesson; further ones are left out."""
    at_once: int = 4
    """Links of all lessons checked at the same time."""
    pause_s: float = 0.5
    """Pause between two links of one host."""
    timeout_s: float = 20.0
    """Timeout for one link."""
    max_page_bytes: int = 4 * 1024**2
    """How much of a linked page is read to judge it."""
    max_upload_bytes: int = 10 * 1024**2
    """Worksheets larger than this are refused."""
    lessons: int = 100
    """Lessons kept for each account; the oldest are dropped."""
    pages: int = 20
    """Pages of each account whose links are checked every night, in the hours of `fetch.night`."""
    fix_at_once: bool = False
    """What a teacher fixes for everybody is offered at once. With false, an admin or reviewer approves it first."""
    topic_pages: int = 500
    """Pages that each account may collect for topics in 30 days; 0 for none."""
    topic_bytes: int = 200_000_000
    """Bytes that each account may collect for topics in 30 days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSettings:
    """Figures for a monitoring system: `[metrics]`."""

    enabled: bool = True
    """Serve /metrics (Prometheus), /healthz and /readyz."""
    listen: str = "127.0.0.1:9108"
    """Address and port; there is no password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """Pages fetched because an admin wants them here: `[fetch]`."""

    enabled: bool = True
    """Fetch the pages in the queue; if false, they wait."""
    night: str = "22:00-05:00"
    """Local hours for pages that are fetched at night."""
    bytes_per_s: int = 250_000
    """Bandwidth limit for all fetches together; 0 for no limit."""
    at_once: int = 2
    """Pages fetched at the same time, each from a different host."""
    pause_s: float = 2.0
    """Pause between two pages of one host; longer if its robots.txt asks for it."""
    max_bytes: int = 20 * 1024**2
    """Pages larger than this are not fetched."""
    timeout_s: float = 120.0
    """Timeout for one page, not counting waits for the bandwidth limit."""
    tries: int = 6
    """How often to try a page before giving up; tries while offline do not count."""
    retry_s: float = 60.0
    """Pause before the second try; each further pause is four times as long, up to six hours."""
    parts: int = 40
    """Maximum number of pictures, style sheets and scripts fetched with a page."""
    max_entries: int = 10_000
    """Maximum number of queue entries, including finished ones; the oldest finished ones are removed first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """How `linkmend crawl` gathers pages for topics: `[crawl]`. Politeness is that of `[fetch]`."""

    host_share: float = 0.5
    """The part of a topic's pages that may come from one host, unless all its seeds are there."""
    explore: float = 0.05
    """The share of links drawn at random, to find what no known page praises."""
    search: str = ""
    """Search engine to begin at, such as https://searx.example/search?q={searchTerms}&format=json: an OpenSearch
    template that answers with RSS or Atom, or SearXNG with JSON. It gets the words of topics. Empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowSettings:
    """How the collection grows from its misses at night: `[grow]`. Politeness and hours are those of `[fetch]`."""

    enabled: bool = False
    """Grow every night, from the running proxy; needs linkmend[learn]. `linkmend grow` works without it."""
    pages: int = 100
    """Maximum number of pages fetched in a night."""
    bytes: int = 50_000_000
    """Maximum number of bytes fetched in a night."""
    weeks: int = 3
    """How far back misses count."""
    readers: int = 2
    """How many readers must have missed a page, or searched for words, before it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Operational logging: `[log]`."""

    level: str = "info"
    """debug, info, warning or error."""
    format: str = "text"
    """text or json, one event per line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    """What `linkmend report` says: `[report]`."""

    own_sites: tuple[str, ...] = ()
    """Domains of the school's own sites, subdomains included; their pages with dead links are reported. Empty: all
    pages."""
    few: int = 3
    """What fewer users than this missed is counted, but not named."""
    to: tuple[str, ...] = ()
    """Mail addresses that get the report with `linkmend report --mail`."""
    language: str = "en"
    """Language of the report: en, es, fr, pt, ar, sw or hi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """The school's mail server, for reports: `[mail]`."""

    server: str = ""
    """HOST:PORT of the mail server (SMTP); empty for no mail."""
    security: str = "starttls"
    """starttls (port 587), tls (port 465), or none, for a server on this machine or network."""
    user: str = ""
    """User name at the mail server; empty for none."""
    password_file: str = ""
    """File with the password in its first line, readable by linkmend's user only."""
    sender: str = ""
    """Address that mails come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrictSettings:
    """What several schools share: `[district]`."""

    search: tuple[str, ...] = ()
    """OpenSearch nodes of the district, https://HOST:PORT each; empty for none."""
    search_user: str = ""
    """User name at OpenSearch; empty for none."""
    search_password_file: str = ""
    """File with the password in its first line, readable by linkmend's user only."""
    search_deadline_s: float = 1.0
    """How long all questions of one repair to the district may take. No page waits for it, but programs do."""
    ca_file: str = ""
    """Certificate authorities of OpenSearch and PostgreSQL, as PEM; empty for the public ones."""
    database: str = ""
    """PostgreSQL of the district, such as postgresql://db1.district.example,db2.district.example/linkmend; of several
    servers the one that takes writes is used. Empty for none."""
    database_user: str = ""
    """User name at PostgreSQL, as `linkmend district invite` gave it."""
    database_password_file: str = ""
    """File with the password in its first line, readable by linkmend's user only."""
    offers: bool = True
    """Offer what other schools of the district confirmed, and count their error pages and choices."""
    pack_keys: tuple[str, ...] = ()
    """Schools whose signed files `linkmend repairs import` accepts, such as "School B = KEY"; then no unsigned file
    is accepted. `linkmend repairs key` prints the key of a school."""
    shared_crawl: bool = False
    """Crawl topics together with the other machines of the district: one list of links, each host asked by one."""
    desk: bool = False
    """This linkmend is the district's own, with an admin's login: its desk shows all schools, and gives rules."""
    crawl_lease_s: float = 30.0
    """After how many seconds without a sign of life the links and hosts of a machine that crawls go to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole tree; every part is handed its own section."""

    proxy: ProxySettings = field(default_factory=ProxySettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    collection: CollectionSettings = field(default_factory=CollectionSettings)
    harvest: HarvestSettings = field(default_factory=HarvestSettings)
    repair: RepairSettings = field(default_factory=RepairSettings)
    soft404: Soft404Settings = field(default_factory=Soft404Settings)
    archives: ArchivesSettings = field(default_factory=ArchivesSettings)
    portal: PortalSettings = field(default_factory=PortalSettings)
    misses: MissesSettings = field(default_factory=MissesSettings)
    rules: RulesSettings = field(default_factory=RulesSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    grow: GrowSettings = field(default_factory=GrowSettings)
    desk: AdminSettings = field(default_factory=AdminSettings)
    teach: TeachSettings = field(default_factory=TeachSettings)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    log: LogSettings = field(default_factory=LogSettings)
    report: ReportSettings = field(default_factory=ReportSettings)
    mail: MailSettings = field(default_factory=MailSettings)
    district: DistrictSettings = field(default_factory=DistrictSettings)


def load(
    path: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Read the file (if any), lay the environment and then `overrides` (`{"proxy.listen": ...}`) over it.

    Raises SettingsError for an unreadable file and for any unknown or wrong key.
    """
    settings = Settings()
    if path is not None:
        settings = _merge(settings, _read_file(path), where=path.name)
    settings = _merge(
        settings, _from_environment(os.environ if environment is None else environment), "environment"
    )
    for dotted, value in (overrides or {}).items():
        section, _, key = dotted.partition(".")
        settings = _merge(settings, {section: {key: value}}, where="command line")
    _check(settings)
    return settings


def default_path(environment: Mapping[str, str] | None = None) -> Path | None:
    """The settings file used when none is named: the user's own, else the system's; None without either."""
    env = os.environ if environment is None else environment
    home = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    for candidate in (home / "linkmend" / "linkmend.toml", Path("/etc/linkmend/linkmend.toml")):
        if candidate.is_file():
            return candidate
    return None


def default_data(environment: Mapping[str, str] | None = None) -> Path:
    """Where data is kept when no place is named: systemd's state directory, else the user's own."""
    env = os.environ if environment is None else environment
    if state := env.get("STATE_DIRECTORY"):
        return Path(state.split(":")[0])
    return Path(env.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "linkmend"


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"{path}: cannot read the file: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """`LINKMEND_PROXY_LISTEN=...` as `{"proxy": {"listen": ...}}`; values as in TOML, strings may be bare."""
    tree: dict[str, Any] = {}
    for name, text in environment.items():
        if not name.startswith("LINKMEND_"):
            continue
        section, _, key = name.removeprefix("LINKMEND_").lower().partition("_")
        tree.setdefault(section, {})[key] = _toml_value(text)
    return tree


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _merge(settings: Settings, tree: Mapping[str, Any], where: str) -> Settings:
    sections = {part.name for part in fields(Settings)}
    for name, values in tree.items():
        if name not in sections:
            raise SettingsError(
                f"{where}: {name}: unknown section, expected one of {', '.join(sorted(sections))}"
            )
        if not isinstance(values, Mapping):
            raise SettingsError(f"{where}: {name}: expected a section, got {values!r}")
        section = getattr(settings, name)
        settings = replace(settings, **{name: _merge_section(section, values, f"{where}: {name}")})
    return settings


def _merge_section(section: Any, values: Mapping[str, Any], where: str) -> Any:
    expected = get_type_hints(type(section))
    changes = {}
    for key, value in values.items():
        if key not in expected:
            raise SettingsError(f"{where}.{key}: unknown key, expected one of {', '.join(sorted(expected))}")
        changes[key] = _convert(value, expected[key], f"{where}.{key}")
    return replace(section, **changes)


def _convert(value: Any, expected: Any, where: str) -> Any:
    """`value` as the type a setting is declared with; bool is not an int here, a whole number is a float."""
    if isinstance(expected, UnionType) or get_origin(expected) not in (None, tuple):
        raise AssertionError(f"{where}: settings are plain types or tuples of them")
    if get_origin(expected) is tuple:
        if not isinstance(value, list | tuple):
            raise SettingsError(f"{where}: expected a list, got {value!r}")
        return tuple(_convert(part, get_args(expected)[0], where) for part in value)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not expected:
        raise SettingsError(f"{where}: expected {expected.__name__}, got {value!r}")
    return value


def _check(settings: Settings) -> None:
    """Values whose type is right but whose content is not."""
    proxy = settings.proxy
    split_address(proxy.listen)
    split_address(settings.desk.listen, key="desk.listen")
    split_address(settings.metrics.listen, key="metrics.listen")
    _networks("proxy.clients", proxy.clients)
    _networks("proxy.balancers", proxy.balancers)
    _networks("desk.clients", settings.desk.clients)
    _networks("proxy.reach", proxy.reach)
    parse_network_names("misses.networks", settings.misses.networks)
    parse_ports("proxy.ports", proxy.ports)
    parse_ports("proxy.connect_ports", proxy.connect_ports)
    if proxy.public:
        split_address(proxy.public, key="proxy.public")
    if proxy.parent:
        parent_address(proxy.parent)
    _one_of("proxy.parent_https", proxy.parent_https, ("absolute", "connect"))
    try:
        parse_archives(settings.archives.list)
    except ValueError as error:
        raise SettingsError(f"archives.list: {error}") from error
    _one_of("collection.share", settings.collection.share, ("off", "local", "all"))
    _one_of("soft404.probe", settings.soft404.probe, ("auto", "off"))
    _one_of("repair.ranking", settings.repair.ranking, ("plain", "learned", "decision"))
    _one_of("log.level", settings.log.level, ("debug", "info", "warning", "error"))
    _one_of("log.format", settings.log.format, ("text", "json"))
    _one_of("report.language", settings.report.language, ("en", "es", "fr", "pt", "ar", "sw", "hi"))
    _one_of("mail.security", settings.mail.security, ("starttls", "tls", "none"))
    if settings.mail.server:
        split_address(settings.mail.server, key="mail.server")
    try:
        NightHours.parse(settings.fetch.night)
    except ValueError as error:
        raise SettingsError(f"fetch.night: {error}") from error
    for name, share in (("host_share", settings.crawl.host_share), ("explore", settings.crawl.explore)):
        if share > 1:
            raise SettingsError(f"crawl.{name}: expected 0 to 1, got {share!r}")
    if settings.crawl.search:
        _check_search(settings.crawl.search)
    for section in fields(settings):
        part = getattr(settings, section.name)
        for key in fields(part):
            value = getattr(part, key.name)
            if isinstance(value, int | float) and value < 0:
                raise SettingsError(f"{section.name}.{key.name}: expected 0 or more, got {value!r}")


def _check_search(template: str) -> None:
    """Raises SettingsError for a template that names no search engine."""
    try:
        parts = urlsplit(template)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and "{" not in parts.netloc
    except ValueError:
        named = False
    if not named or SEARCH_TERMS not in template:
        raise SettingsError(
            f"crawl.search: expected an http(s) address with {SEARCH_TERMS}, got {template!r}"
        )


def as_environment(settings: Settings) -> dict[str, str]:
    """The settings as environment variables, with which another process of linkmend reads the same."""
    return {
        f"LINKMEND_{section.name}_{key.name}".upper(): json.dumps(getattr(part, key.name), ensure_ascii=False)
        for section in fields(settings)
        for part in (getattr(settings, section.name),)
        for key in fields(part)
    }


def _networks(key: str, networks: tuple[str, ...]) -> None:
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise SettingsError(f"{key}: expected networks such as 10.0.0.0/8, got {network!r}") from error


def _one_of(key: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"{key}: expected one of {', '.join(choices)}, got {value!r}")


def split_address(text: str, *, key: str = "proxy.listen") -> tuple[str, int]:
    """`HOST:PORT` as its parts; an IPv6 address stands in brackets. Raises SettingsError that names `key`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise SettingsError(f"{key}: expected HOST:PORT, got {text!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parent_address(url: str) -> tuple[str, int]:
    """Host and port of a parent given as http://HOST:PORT. Raises SettingsError."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme != "http" or parts.path not in ("", "/") or parts.query:
        raise SettingsError(f"proxy.parent: expected http://HOST:PORT, got {url!r}")
    return host, port
