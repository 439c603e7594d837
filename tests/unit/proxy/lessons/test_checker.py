"""What an answer means for the class, with a client that answers from a table."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.politeness import HostSlots
from proxy.http.errors import ForbiddenTarget, NoConnection, UntrustedCertificate
from proxy.lessons.checker import LinkChecker
from proxy.lessons.model import CheckState
from proxy.rules.parse import rules_of
from proxy.rules.ruleset import RuleSet
from proxy.settings import Settings, TeachSettings
from repair.fetch import FetchError, TooLarge
from repair.model import MissKind, Page
from repair.soft404.detector import Soft404Detector
from repair.soft404.sitestore import SiteStore

ARTICLE = (
    b"<title>Volcanoes</title><main><h1>Volcanoes</h1>" + b"<p>Lava and ash come out of the Earth.</p>" * 30
)
NOT_FOUND = (
    b"<title>Page not found</title><h1>Page not found</h1><p>Sorry, the page you are looking for could not be found."
    b" It may have been moved or deleted.</p>"
)
BLOCK = '[[rule]]\nname = "games"\nurl = "*/games/*"\naction = "block"\n'
URL = "http://a.test/page"


class Answers:
    """A client; each address has a status, headers and a body, or an error."""

    def __init__(self, **pages):
        self.pages = {f"http://a.test/{path}": answer for path, answer in pages.items()}
        self.asked = []

    async def get(self, url, *, limits, headers):
        self.asked.append(url)
        answer = self.pages[url]
        if isinstance(answer, Exception):
            raise answer
        status, fields, body = answer
        return Page(url=url, status=status, headers=fields, body=body, fetched_at=datetime.now(UTC))


def html(status=200, body=ARTICLE, **fields):
    return status, (("content-type", "text/html"), *fields.items()), body


async def check(tmp_path, url=URL, *, connected=True, behind_parent=False, **pages):
    connectivity, threads = Connectivity(), ThreadPoolExecutor(1)
    if connected:
        connectivity.note_answer(time.monotonic())
    client, settings = Answers(**pages), Settings(teach=TeachSettings(pause_s=0.0))
    rules = RuleSet(rules_of(BLOCK, "a.toml", lambda name: "")[0])
    checker = LinkChecker(
        client,
        HostSlots(),
        Soft404Detector(SiteStore(tmp_path / "sites.sqlite"), threads),
        connectivity,
        rules=lambda: rules,
        settings=lambda: settings,
        behind_parent=lambda: behind_parent,
    )
    found = await checker.check(url)
    threads.shutdown()
    return found, client.asked


def timed_out():
    error = FetchError("took too long")
    error.__cause__ = TimeoutError()
    return error


@pytest.mark.parametrize(
    ("answer", "state", "kind"),
    [
        (html(), CheckState.WORKS, None),
        ((200, (("content-type", "application/pdf"),), b"%PDF"), CheckState.WORKS, None),
        (html(404), CheckState.DEAD, MissKind.NOT_FOUND),
        (html(410), CheckState.DEAD, MissKind.GONE),
        (html(503), CheckState.TROUBLE, MissKind.SERVER_ERROR),
        (html(429), CheckState.TROUBLE, MissKind.SERVER_ERROR),
        (html(401), CheckState.LOGIN, None),
        (html(403), CheckState.LOGIN, None),
        (html(body=NOT_FOUND), CheckState.SOFT_404, MissKind.SOFT_404),
        (TooLarge("larger"), CheckState.WORKS, None),
        (ForbiddenTarget("no"), CheckState.FORBIDDEN, None),
        (UntrustedCertificate("no"), CheckState.DEAD, MissKind.TLS),
        (FetchError("no such host"), CheckState.DEAD, MissKind.UNREACHABLE),
        (NoConnection("nobody"), CheckState.DEAD, MissKind.UNREACHABLE),
        (timed_out(), CheckState.TROUBLE, MissKind.TIMEOUT),
    ],
)
async def test_answer_has_its_state(tmp_path, answer, state, kind):
    found, _ = await check(tmp_path, page=answer)
    assert (found.state, found.kind) == (state, kind)


async def test_without_a_connection_nothing_is_called_dead(tmp_path):
    found, _ = await check(tmp_path, connected=False, page=NoConnection("nobody"))
    assert found.state is CheckState.UNKNOWN


async def test_parent_that_cannot_reach_the_site_means_that_the_class_cannot(tmp_path):
    answer = html(503, **{"x-squid-error": "ERR_DNS_FAIL 0"})
    found, _ = await check(tmp_path, behind_parent=True, page=answer)
    assert (found.state, found.kind) == (CheckState.DEAD, MissKind.UNREACHABLE)


@pytest.mark.parametrize(
    ("to", "state"),
    [
        ("/other", CheckState.REDIRECTED),
        ("/page/", CheckState.WORKS),
        ("/login?next=page", CheckState.LOGIN),
        ("/lost", CheckState.DEAD),
        ("/games/1", CheckState.BLOCKED),
    ],
)
async def test_redirect_is_followed_to_its_end(tmp_path, to, state):
    pages = {
        "page": html(302, b"", location=to),
        "other": html(),
        "page/": html(),
        "login?next=page": html(),
        "lost": html(404),
    }
    found, asked = await check(tmp_path, **pages)
    assert found.state is state
    assert not any("/games/" in url for url in asked)
    if state is CheckState.REDIRECTED:
        assert found.final_url == "http://a.test/other"


async def test_blocked_page_is_not_requested(tmp_path):
    found, asked = await check(tmp_path, "http://a.test/games/1")
    assert (found.state, found.rule, asked) == (CheckState.BLOCKED, "games", [])


async def test_endless_redirects_lead_nowhere(tmp_path):
    found, asked = await check(tmp_path, page=html(302, b"", location="/page"))
    assert found.state is CheckState.DEAD
    assert len(asked) < 20
