"""Lesson check, measured: 200 links of known state on loopback, over real connections."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.politeness import HostSlots
from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.http.prober import SiteProber
from proxy.lessons.checker import LinkChecker
from proxy.lessons.model import CheckState
from proxy.reach.policy import ReachPolicy
from proxy.rules.parse import rules_of
from proxy.rules.ruleset import RuleSet
from proxy.settings import Settings, TeachSettings
from repair.soft404.detector import Soft404Detector
from repair.soft404.sitestore import SiteStore
from tests.integration.origin import Origin, close, hang, reply
from tests.integration.processes import free_port

SUBJECTS = (
    *("volcanoes", "photosynthesis", "fractions", "the river Nile", "electric circuits", "rhyme and metre"),
    *("the water cycle", "Mansa Musa", "map reading", "magnets", "insects", "the solar system", "vowels"),
)
SENTENCES = (
    "Pupils in the sixth year read about {s} and draw what they have seen in their exercise books.",
    "The chapter on {s} begins with a short experiment that can be done with things from the kitchen.",
    "After the break the class discusses {s} in groups of four and writes down three questions.",
    "A glossary at the end explains the words that are needed to talk about {s} in plain English.",
    "The teacher's notes on {s} suggest two lessons of forty minutes, and homework for the weekend.",
)
GONE = (
    (
        "Page not found",
        "Sorry, the page you are looking for could not be found. It may have been moved or deleted.",
    ),
    (
        "404 Not Found",
        "The requested URL was not found on this server. Go back to the home page or use the search.",
    ),
    (
        "Seite nicht gefunden",
        "Die gewünschte Seite wurde leider nicht gefunden. Bitte prüfen Sie die Adresse.",
    ),
    ("Page introuvable", "La page que vous cherchez n'existe pas ou a été déplacée. Retour à l'accueil."),
    (
        "Página no encontrada",
        "La página que busca no existe o ha sido eliminada. Volver a la página de inicio.",
    ),
)
PARKED = (
    "<html><head><title>{n} is for sale</title><script src='https://www.google.com/adsense/domains/caf.js'></script>"
    "</head><body><h1>This domain is for sale</h1><p>Buy this domain.</p><p>Related searches</p></body></html>"
)
LOGIN = (
    "<html><head><title>Log in</title></head><body><h1>Log in to continue</h1><form method=post action=/login>"
    "<label>User name <input name=user></label><label>Password <input type=password name=password></label>"
    "<button>Log in</button><a href=/forgot>Forgot your password?</a></form></body></html>"
)


def a_page(number):
    subject = SUBJECTS[number % len(SUBJECTS)]
    text = "".join(
        f"<p>{SENTENCES[(number + step) % 5].format(s=subject)} ({number})</p>" for step in range(8)
    )
    head = f"<html><head><title>{subject} {number}</title></head>"
    return f"{head}<body><main><h1>{subject}</h1>{text}</main></body></html>"


def known_links(origin, other):
    """200 addresses, each with the state that the class will see."""
    links, here = {}, origin.url

    def add(state, path, answer, site=origin):
        site.pages[path] = answer
        links[site.url + path] = state

    for n in range(45):
        add(CheckState.WORKS, f"/lesson/{n}", reply(a_page(n)))
    for n in range(10):
        add(CheckState.WORKS, f"/files/{n}.pdf", reply(b"%PDF-1.7 " + bytes(n * 50), kind="application/pdf"))
    for n in range(30):
        status = ("301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect")[
            n % 4
        ]
        add(CheckState.REDIRECTED, f"/old/{n}", reply(status=status, Location=f"/lesson/{n}"))
    for n in range(25):
        links[f"{here}/missing/{SUBJECTS[n % 13].replace(' ', '-')}/{n}"] = CheckState.DEAD
    for n in range(10):
        add(CheckState.DEAD, f"/gone/{n}", reply("<h1>Gone</h1>", status="410 Gone"))
    for n in range(5):
        links[f"http://no-such-host-{n}.invalid/page"] = CheckState.DEAD
        links[f"http://127.0.0.1:{free_port()}/page/{n}"] = CheckState.DEAD
        add(CheckState.DEAD, f"/closes/{n}", close)
    for n in range(20):
        title, words = GONE[n % 5]
        body = f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{words}</p></body></html>"
        add(CheckState.SOFT_404, f"/{SUBJECTS[n % 13].replace(' ', '-')}/unit-{n}", reply(body), other)
    for n in range(5):
        add(CheckState.SOFT_404, f"/parked/{n}", reply(PARKED.format(n=f"site{n}.test")))
    for n in range(5):
        add(CheckState.LOGIN, f"/members/{n}", reply("<h1>401</h1>", status="401 Unauthorized"))
        add(CheckState.LOGIN, f"/staff/{n}", reply("<h1>Forbidden</h1>", status="403 Forbidden"))
        add(CheckState.LOGIN, f"/course/{n}", reply(status="302 Found", Location=f"/login?next=/course/{n}"))
        add(CheckState.LOGIN, f"/moodle/{n}", reply(LOGIN))
        origin.pages[f"/login?next=/course/{n}"] = reply(LOGIN)
    for n in range(8):
        links[f"{here}/games/{n}"] = CheckState.BLOCKED
    for n in range(2):
        add(CheckState.BLOCKED, f"/way/{n}", reply(status="302 Found", Location=f"/games/{n}"))
    for n in range(5):
        add(CheckState.TROUBLE, f"/busy/{n}", reply("<h1>Busy</h1>", status="503 Service Unavailable"))
    for n in range(3):
        add(CheckState.TROUBLE, f"/slow/{n}", hang)
    links["http://169.254.169.254/latest/meta-data"] = CheckState.FORBIDDEN
    links["http://[::ffff:169.254.169.254]/"] = CheckState.FORBIDDEN
    assert len(links) == 200, len(links)
    return links


@pytest.mark.slow
async def test_at_least_98_of_100_links_get_the_state_that_the_class_will_see(tmp_path):
    settings = Settings(teach=TeachSettings(pause_s=0.0, timeout_s=5.0))
    rules = RuleSet(
        rules_of(
            '[[rule]]\nname = "games"\nurl = "*/games/*"\naction = "block"\n', "a.toml", lambda name: ""
        )[0]
    )
    reach = ReachPolicy(allowed=("127.0.0.0/8", "::1/128"))
    threads = ThreadPoolExecutor(2)
    with Origin() as origin, Origin() as other:
        links = known_links(origin, other)
        clients = [
            HttpClient(ConnectGuard(lambda: reach), purpose="test", keep_alive=False) for _ in range(2)
        ]
        detector = Soft404Detector(
            SiteStore(tmp_path / "sites.sqlite"), threads, ask=SiteProber(clients[1]).ask
        )
        checker = LinkChecker(
            clients[0], HostSlots(), detector, Connectivity(), rules=lambda: rules, settings=lambda: settings
        )
        await checker.check(f"{origin.url}/lesson/0")  # there is a connection
        slots = asyncio.Semaphore(8)

        async def state(url):
            async with slots:
                return (await checker.check(url)).state

        found = await asyncio.gather(*map(state, links))
        await detector.close()
        for client in clients:
            await client.close()
    threads.shutdown()
    wrong = [(url, links[url], got) for url, got in zip(links, found, strict=True) if got is not links[url]]
    right = len(links) - len(wrong)

    assert right >= 0.98 * len(links), (right, wrong)
