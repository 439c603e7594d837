"""Users' choices on repair pages neither redirect nor mislead others, however many addresses they have."""

import json
import re
import urllib.parse
import urllib.request
from types import SimpleNamespace

import pytest

from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually, linkmend, serving

HELPER = "/.well-known/linkmend"
NETWORKS = 12
MUSEUM = "museum.example.com"
"""The site under a public name: lists of other schools tell of no others."""
LED = "127.1.201"
"""The network whose users a rule leads straight to pages that the text is sure of."""
TEXT = "<p>Words that have nothing to do with the address of the page, nor with that of any other.</p>"


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """A linkmend with auto-redirects, and a site with saved pages."""
    home = tmp_path_factory.mktemp("choices")
    (home / "rules").mkdir()
    (home / "rules" / "lead.toml").write_text(
        f'[[rule]]\nclient = ["{LED}.0/24"]\nauto_follow = 0.3\n', encoding="utf-8"
    )
    settings = f'[collection]\ncommit_every_s = 0.2\n[rules]\nfolder = "{home / "rules"}"\n'
    names = home / "names.json"
    names.write_text(json.dumps({MUSEUM: ["127.0.0.1"]}), encoding="utf-8")
    with Origin() as site, serving(home / "data", settings=settings, names=names) as running:
        made = School(running, site)
        titles = {
            "marmots": "Marmots",
            "more": "Marmots of mountains",
            "wells1": "Wells springs",
            "wells2": "Wells springs",
            **{f"o{number}": f"Ocelots {number}" for number in range(4)},
        }
        reader = made.user(0)
        for name, title in titles.items():
            page = f"<title>{title}</title>{TEXT}<p>{name}</p>"
            site.pages[f"/held/{name}"] = reply(page, Cache_Control="max-age=600")
            assert reader.open_page(made.held(name)).status == 200
        assert reader.open_page(made.public("held/o0")).status == 200
        eventually(lambda: "held/o3" in reader.search("Ocelots").text, "the pages were not read")
        yield made


class School:
    def __init__(self, running, site):
        self.running, self.site = running, site
        self._desk = SimpleNamespace(url="", token="")

    def held(self, name):
        return f"{self.site.url}/held/{name}"

    def public(self, path):
        return f"http://{MUSEUM}:{self.site.port}/{path}"

    def user(self, network, device=1):
        return Client(self.running.url, source=f"127.1.{network}.{device}")

    def offered(self, lost):
        """The alternatives for a new user."""
        return self.user(200).repair(lost).told["alternatives"]

    def click(self, user, lost, page, *, by=None):
        """Whether the page was offered to a user, who clicks on it; `by` is the client that sends the click."""
        shown = user.open_page(lost).text
        ping = re.search(rf'href="{re.escape(page)}" ping="([^"]+)"', shown)
        assert ping, f"{page} is not offered for {lost}"
        path = ping[1].replace("&amp;", "&")
        assert (by or user).get(self.site.url + path, method="POST").status == 204

    def events(self):
        file = self.running.data / "misses" / "misses.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def desk(self, path, method="GET", **query):
        if not self._desk.token:
            self._desk.url = self.running.wait_for_line("linkmend desk on ").split()[-1]
            told = linkmend(
                *("desk", "token", "test", "--scope", "read", "--scope", "review"),
                *("--data", self.running.data),
            )
            self._desk.token = told.stdout.split()[-1]
        address = f"{self._desk.url}/admin/api/misses/{path}?{urllib.parse.urlencode(query)}"
        told = {"Authorization": f"Bearer {self._desk.token}"}
        with urllib.request.urlopen(
            urllib.request.Request(address, headers=told, method=method), timeout=20
        ) as answer:
            return json.loads(answer.read() or b"null")

    def networks(self, lost):
        """The number of networks behind each chosen page, from the admin API."""
        return {each["chosen"]: each["networks"] for each in self.desk("address", url=lost)["counted"]}

    def chosen_by(self, count, lost, page):
        for network in range(1, count + 1):
            self.click(self.user(network), lost, page)
        eventually(lambda: self.networks(lost).get(page) == count, f"{page} was not counted")


def test_only_clicks_on_the_repair_page_count_as_choices(school):
    lost, page = school.site.url + "/old/marmots", school.held("marmots")
    typed, clicked = school.user(31), school.user(32)
    assert page in typed.open_page(lost).text
    assert typed.open_page(page).status == 200
    school.click(clicked, lost, page)
    eventually(lambda: [each for each in school.events() if each["event"] == "chosen"], "no click is noted")
    misses = [each["id"] for each in school.events() if each["event"] == "miss" and each["url"] == lost]
    chosen = [each["id"] for each in school.events() if each["event"] == "chosen"]
    assert len(misses) == 2
    assert chosen == misses[1:]


def test_a_click_counts_only_for_the_user_who_was_shown_the_page(school):
    lost, page = school.site.url + "/stolen/marmots", school.held("marmots")
    school.click(school.user(33), lost, page, by=school.user(34))
    school.click(school.user(35), lost, page)
    eventually(lambda: school.networks(lost) == {page: 1}, "the user's own click is not counted")


def test_a_network_has_one_vote_however_many_addresses_it_has(school):
    lost, page = school.site.url + "/many/marmots", school.held("marmots")
    for device in range(1, 9):
        school.click(school.user(36, device), lost, page)
    school.click(school.user(37), lost, page)
    eventually(lambda: school.networks(lost).get(page) == 2, "two networks are not counted as two")


def test_choices_neither_outrank_text_similarity_nor_auto_redirect(school):
    lost = school.site.url + "/old/marmots.html"
    best, other = school.held("marmots"), school.held("more")
    before = school.offered(lost)
    assert [each["url"] for each in before][:2] == [best, other]
    school.chosen_by(NETWORKS, lost, other)
    after = school.offered(lost)
    assert [(each["url"], each["confidence"]) for each in after] == [
        (each["url"], each["confidence"]) for each in before
    ]
    # Control: a user is auto-redirected where the text is sure, and to that page.
    answer = Client(school.running.url, source=f"{LED}.1").open_page(lost)
    assert (answer.status, answer.headers["Location"]) == (302, best)
    exported = linkmend("repairs", "export", "-", "--data", school.running.data)
    assert (exported.returncode, exported.stdout) == (0, ""), exported.stderr


def test_choices_break_ties_but_do_not_auto_redirect(school):
    lost = school.site.url + "/old/wells-springs"
    led, led_later = (Client(school.running.url, source=f"{LED}.{device}") for device in (2, 3))
    first, second = [each["url"] for each in school.offered(lost)][:2]
    assert led.open_page(lost).headers["Location"] == first, "the control: a user is led"
    school.chosen_by(3, lost, second)
    assert [each["url"] for each in school.offered(lost)][:2] == [second, first]
    assert school.offered(lost)[0]["source"] == "shared"
    assert led_later.open_page(lost).status == 404


def test_admin_sees_the_networks_behind_a_choice_and_can_forget_it(school):
    lost, page = school.site.url + "/forgotten/marmots", school.held("marmots")
    school.chosen_by(3, lost, page)
    assert "shared" in school.offered(lost)[0]["reasons"]
    school.desk("choices", "DELETE", url=lost, chosen=page)
    assert school.networks(lost) == {}
    assert "shared" not in school.offered(lost)[0]["reasons"]


def test_list_of_another_school_adds_no_page_and_ranks_none_first(school, tmp_path):
    lost, best = school.public("old/marmots"), school.held("marmots")
    before = school.offered(lost)
    assert before[0]["url"] == best
    lines = [
        {
            "school": f"School {number}",
            "url": lost,
            "chosen": school.public("held/o0"),
            "times": 1_000_000,
            "refused": 0,
        }
        for number in range(50)
    ]
    file = tmp_path / "repairs.jsonl"
    file.write_text(
        "".join(json.dumps({"version": 1, "last": "2026-05-03", **line}) + "\n" for line in lines)
    )
    done = linkmend("repairs", "import", file, "--data", school.running.data)
    assert "50 repairs" in done.stdout, done.stderr
    assert len(school.desk("address", url=lost)["counted"]) == 20, "the list was not read"
    after = school.offered(lost)
    assert [(each["url"], each["confidence"]) for each in after] == [
        (each["url"], each["confidence"]) for each in before
    ]
