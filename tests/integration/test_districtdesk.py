"""The district's desk over a real PostgreSQL: what schools tell, and what they are given."""

import contextlib
import json
import os
from dataclasses import replace
from datetime import date, timedelta

import pytest

from proxy.admin.auditlog import AUDIT_FILE
from proxy.admin.auth.passwords import Passwords
from proxy.district.connection import connected
from proxy.district.desk.overview import read_overview
from proxy.district.desk.pushing import PushKind, push, versions
from proxy.district.desk.schoolside import SchoolDay, SchoolSide
from proxy.district.membership import standings
from proxy.district.roles import invite_admin, invite_school
from proxy.district.schema import initialise
from proxy.errors import DistrictUnavailable
from proxy.paths import DISTRICT_RULES
from proxy.rules.live import LiveRules
from proxy.rules.model import RulesError
from proxy.settings import DistrictSettings, Settings
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import InvalidTopic, Topic
from repair.crawling.topicstore import TopicStore
from tests.desks import PASSWORD, a_desk, an_admin
from tests.integration.client import PORTAL, Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually

BLOCKS = '[[rule]]\nname = "games"\nurl = "*/games/*"\naction = "block"\n'
BAD = (
    '[[rule]]\nname = "games"\nurl = "*/games/*"\n\n[[rule]]\nname = "chess"\nurl = "*"\naction = "explode"\n'
)
TOPICS = "Volcanoes\n    words: lava, magma\n    - Craters\nGlaciers\n"
TODAY = date.today()  # noqa: DTZ011  (days as the school's users know them)


@pytest.fixture(scope="module")
def postgres(start_postgres):
    """A running PostgreSQL."""
    return start_postgres()


@pytest.fixture
def district(postgres):
    """The owner's settings of an initialised database."""
    settings = postgres.create_database()
    initialise(settings)
    return settings


@pytest.fixture
def enter(district, tmp_path):
    """Invites a school or an admin; returns the settings with its login."""

    def entered(name, *, invite=invite_school):
        with connected(district) as owner:
            login = invite(owner, name)
        file = tmp_path / f"{login.user}.password"
        file.write_text(login.password)
        return replace(district, database_user=login.user, database_password_file=str(file))

    return entered


@pytest.fixture
def head(enter):
    """The login of the district's admin."""
    return replace(enter("head", invite=invite_admin), desk=True)


def give(head, kind, text):
    with connected(head) as connection:
        return push(connection, kind, text, by="head")


def overview(head):
    with connected(head) as connection:
        return read_overview(connection, TODAY)


class ASchool:
    """A school with rules of its own, taking part in the district."""

    def __init__(self, settings, folder, own=""):
        (folder / "rules.d").mkdir(parents=True)
        (folder / "rules.d" / "10.toml").write_text(own)
        self.settings, self.data = settings, folder
        self.live = LiveRules(folder / "rules.d", below=folder / DISTRICT_RULES)
        self.database = TopicDatabase(folder / "topics")
        self.topics = TopicStore(self.database)
        self.changes = []
        self.side = self.opened()

    def opened(self):
        return SchoolSide(
            self.data,
            own_rules=lambda: self.live.ruleset,
            topics=self.database,
            on_change=lambda kind, version: self.changes.append((kind, version)),
        )

    def take(self):
        with connected(self.settings) as connection:
            self.side.take(connection)
        self.live.reload()
        with connected(self.settings) as connection:
            self.side.take(connection)

    def rules(self):
        return [(rule.file, rule.name) for rule in self.live.ruleset.rules]


@pytest.fixture
def school(enter, tmp_path):
    made = ASchool(enter("North"), tmp_path / "north")
    yield made
    made.database.close()


def test_rules_of_the_district_come_below_a_school_s_own_and_its_own_of_the_same_name_wins(
    enter, head, tmp_path
):
    own = '[[rule]]\nname = "games"\nurl = "*/games/chess"\naction = "block"\n'
    school = ASchool(enter("North"), tmp_path / "north", own)
    give(head, PushKind.RULES, BLOCKS + '\n[[rule]]\nname = "ads"\nurl = "*/ads/*"\naction = "block"\n')
    school.take()
    assert school.rules() == [("10.toml", "games"), ("district", "ads")]
    (shown,) = overview(head).schools
    assert shown.applied[PushKind.RULES].replaced == ("games",)
    assert (shown.applied[PushKind.RULES].version, school.changes) == (1, [(PushKind.RULES, 1)])
    school.database.close()


def test_faulty_rules_are_refused_with_the_line_and_the_last_stay(head, school):
    give(head, PushKind.RULES, BLOCKS)
    with pytest.raises(RulesError) as told:
        give(head, PushKind.RULES, BAD)
    assert any(fault.line == 8 for fault in told.value.faults), told.value
    with pytest.raises(RulesError, match="no list files"):
        give(head, PushKind.RULES, '[[rule]]\nname = "x"\ndomain_list = "big.list"\naction = "block"\n')
    school.take()
    assert school.rules() == [("district", "games")]
    with connected(head) as connection:
        assert [each.version for each in versions(connection, PushKind.RULES, limit=9)] == [1]


def test_school_that_cannot_read_the_newest_keeps_the_last_good_rules_and_says_so(district, head, school):
    give(head, PushKind.RULES, BLOCKS)
    school.take()
    with connected(district) as owner:  # of a newer linkmend, say
        owner.execute(
            "INSERT INTO pushed (kind, version, text, made_by) VALUES ('rules', 2, %s, 'head')", (BAD,)
        )
    school.take()
    assert school.rules() == [("district", "games")]
    (shown,) = overview(head).schools
    used = shown.applied[PushKind.RULES]
    assert (used.version, used.is_newest) == (1, False)
    assert "version 2" in used.fault
    assert shown.is_behind
    school.side = school.opened()  # after a start it is the same
    school.take()
    assert overview(head).schools[0].applied[PushKind.RULES].fault == used.fault
    give(head, PushKind.RULES, "")
    school.take()
    assert school.rules() == []
    assert overview(head).schools[0].applied[PushKind.RULES].fault == ""


def test_topics_are_brought_and_taken_back_but_never_those_that_the_school_changed(head, school):
    school.topics.put(Topic(name="Glaciers", words=("ice",)))
    give(head, PushKind.TOPICS, TOPICS)
    school.take()
    volcanoes = school.topics.get("Volcanoes")
    assert volcanoes.words == ("lava", "magma")
    assert school.topics.get("Glaciers").words == ("ice",)
    assert overview(head).schools[0].applied[PushKind.TOPICS].replaced == ("Glaciers",)
    give(head, PushKind.TOPICS, TOPICS.replace("magma", "ash"))
    school.take()
    assert school.topics.get("Volcanoes").words == ("lava", "ash")
    school.topics.put(replace(school.topics.get("Volcanoes"), words=("fire",)))
    give(head, PushKind.TOPICS, "Rivers\n")
    school.take()
    assert {topic.name for topic in school.topics.list()} == {"Volcanoes", "Glaciers", "Rivers"}
    give(head, PushKind.TOPICS, "")
    school.take()
    assert {topic.name for topic in school.topics.list()} == {"Volcanoes", "Glaciers"}
    with pytest.raises(InvalidTopic, match="line 2"):
        give(head, PushKind.TOPICS, "  \n    - Craters\n")


def test_figures_are_those_of_each_school_and_of_all(head, school, enter, tmp_path):
    other = ASchool(enter("South"), tmp_path / "south")
    days = [SchoolDay(day=TODAY - timedelta(days=back), misses=10, opened=4) for back in range(1, 15)]
    warnings = [("disk", "only 3 % free"), ("clock", "wrong " * 100)]
    with connected(school.settings) as connection:
        eight = SchoolDay(day=TODAY - timedelta(days=8), misses=10, opened=4, pages=70)
        today = SchoolDay(day=TODAY, misses=1, opened=1, pages=100)
        school.side.tell(connection, [*days, eight, today], warnings)
        school.side.tell(connection, [today], warnings[:1])
    with connected(other.settings) as connection:
        other.side.tell(connection, [SchoolDay(day=TODAY, misses=5, opened=0, pages=7)], [])
    found = overview(head)
    north, south = found.schools
    assert (north.misses, north.opened, north.pages, north.growth) == (61, 25, 100, 30)
    assert north.warnings == (("disk", "only 3 % free"),)
    assert (south.misses, south.pages, south.growth, south.warnings) == (5, 7, None, ())
    assert (found.misses, found.pages) == (66, 107)
    assert sum(week.misses for week in found.weeks) == 14 * 10 + 1 + 5
    other.database.close()


def test_a_school_reads_no_other_s_figures_and_gives_nothing(school, enter, tmp_path):
    other = ASchool(enter("South"), tmp_path / "south")
    with connected(other.settings) as connection:
        other.side.tell(connection, [SchoolDay(day=TODAY, misses=5, opened=0, pages=7)], [("disk", "full")])
        other.side.take(connection)
    with connected(school.settings) as connection:
        for table in ("school_days", "school_health", "applied"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    with (
        pytest.raises(DistrictUnavailable, match="permission denied"),
        connected(school.settings) as connection,
    ):
        push(connection, PushKind.RULES, BLOCKS, by="a school")
    other.database.close()


async def test_the_page_shows_schools_and_refuses_faulty_rules_with_their_lines(head, school, tmp_path):
    with connected(school.settings) as connection:
        school.side.tell(
            connection, [SchoolDay(day=TODAY, misses=8, opened=2, pages=5)], [("disk", "<b>full</b>")]
        )
        connection.execute(
            "INSERT INTO presence (school, version, waiting) VALUES (current_school(), '0.2.0', 3)"
        )
    folder = tmp_path / "desk"
    async with a_desk(folder, settings=Settings(district=head)) as desk, an_admin(desk) as browser:
        page = await browser.text("/admin/district")
        assert "North" in page
        assert "25 %" in page
        assert "<b>full" not in page
        refused = await browser.post("/admin/district/rules", {"text": BAD})
        assert refused.status == 400
        assert "district:8" in await refused.text()
        assert "explode" in await refused.text()
        assert (await browser.post("/admin/district/rules", {"text": BLOCKS})).status == 303
        assert (await browser.post("/admin/district/topics", {"text": TOPICS})).status == 303
        page = await browser.text("/admin/district")
        assert "*/games/*" in page
        assert "behind" in page
    log = [json.loads(line) for line in (folder / AUDIT_FILE).read_text().splitlines()]
    assert "rules version 1" in [entry["about"] for entry in log]
    assert "topics version 1" in [entry["about"] for entry in log]


async def test_other_desks_have_no_such_page(tmp_path):
    async with a_desk(tmp_path) as desk, an_admin(desk) as browser:
        assert (await browser.get("/admin/district")).status == 404
        assert "/admin/district" not in await browser.text("/admin")


async def test_without_a_line_the_page_says_so_and_keeps_what_was_written(postgres, tmp_path):
    nowhere = DistrictSettings(database="postgresql://127.0.0.1:1/none", desk=True)
    async with a_desk(tmp_path, settings=Settings(district=nowhere)) as desk, an_admin(desk) as browser:
        shown = await browser.get("/admin/district")
        assert (shown.status, "does not answer" in await shown.text()) == (503, True)
        shown = await browser.post("/admin/district/rules", {"text": BLOCKS})
        assert shown.status == 503


def district_section(settings, *, desk=False):
    return (
        f'[district]\ndatabase = "{settings.database}"\ndatabase_user = "{settings.database_user}"\n'
        f'database_password_file = "{settings.database_password_file}"\ndesk = {str(desk).lower()}\n'
    )


@pytest.mark.slow
def test_rules_given_at_the_desk_hold_at_a_running_school_within_a_minute(
    enter, head, start_linkmend, open_browser, tmp_path
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    data = tmp_path / "head"
    Passwords(data / "desk.json").set_password(PASSWORD)
    desk = start_linkmend(data=data, settings=district_section(head, desk=True))
    running = start_linkmend(data=tmp_path / "school", settings=district_section(enter("North")))
    client = Client(running.url)
    with Origin() as origin:
        origin.pages["/games/1"] = reply("<title>Game</title>play")
        assert client.open_page(f"{origin.url}/games/1").status == 200
        client.open_page(f"{origin.url}/gone")
        page = open_browser(desk, viewport={"width": 1400, "height": 1000})
        page.goto(f"{PORTAL}/admin/login")
        page.fill("#password", PASSWORD)
        page.press("#password", "Enter")
        page.wait_for_url(f"{PORTAL}/admin")
        page.goto(f"{PORTAL}/admin/district")
        page.fill("#rules-text", BAD)
        page.click("#rules-text ~ button")
        assert "district:8" in page.inner_text("[role=alert]")
        page.fill("#rules-text", BLOCKS)
        page.click("#rules-text ~ button")
        page.wait_for_selector("[role=status]")
        eventually(lambda: client.open_page(f"{origin.url}/games/1").status == 403, "the rule does not hold")
    south = ASchool(enter("South, where the school has a name of many words"), tmp_path / "south")
    weeks = [
        SchoolDay(
            day=TODAY - timedelta(days=7 * back),
            misses=40 - 3 * back,
            opened=20 - back,
            pages=900 - 50 * back,
        )
        for back in range(12)
    ]
    with connected(south.settings) as connection:
        south.side.tell(connection, weeks, [("disk", "only 3 % of /var/lib/linkmend is free")])
    south.take()
    south.database.close()
    eventually(lambda: overview(head).schools[0].warnings, "the school tells nothing of its health")
    for name, width, scheme in (("wide", 1400, "light"), ("phone", 360, "dark")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{PORTAL}/admin/district")
        assert "North" in page.inner_text("table.schools")
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if shots := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=f"{shots}/district-{name}.png", full_page=True)
    assert "rules taken from the district" in (tmp_path / "school" / AUDIT_FILE).read_text()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO presence VALUES (current_school(), '²', 0)",
        f"INSERT INTO presence VALUES (current_school(), '{'9' * 40}', 0)",
        "INSERT INTO presence VALUES (current_school(), '1', 0, 'infinity')",
        "INSERT INTO presence VALUES (current_school(), '1', 0, '-infinity')",
        "INSERT INTO school_days VALUES (current_school(), 'infinity', 1, 1, 1)",
        "INSERT INTO school_days VALUES (current_school(), '20000-01-01', 1, 1, 1)",
        "INSERT INTO school_days VALUES (current_school(), current_date, -2147483648, 2147483647, -2147483648)",
        "INSERT INTO school_health VALUES (current_school(), '5')",
        "INSERT INTO school_health VALUES (current_school(), 'null')",
        "INSERT INTO school_health VALUES (current_school(), '{\"check\": 1}')",
        "INSERT INTO school_health VALUES (current_school(), '[{\"check\": [1]}, 5, null]')",
        f"INSERT INTO school_health VALUES (current_school(), '{'[' * 4000}{']' * 4000}')",
        "INSERT INTO school_health VALUES (current_school(), '[1e15000]')",
        f"INSERT INTO applied VALUES (current_school(), 'rules', 1, '', '{'[' * 4000}{']' * 4000}')",
        "INSERT INTO applied VALUES (current_school(), 'none of these', 1, '', '[]')",
        "INSERT INTO applied VALUES (current_school(), 'rules', 2147483647, '', '{\"a\": 1}')",
    ],
)
def test_a_hostile_school_cannot_keep_the_desk_from_showing_the_others(enter, head, statement):
    with contextlib.suppress(DistrictUnavailable), connected(enter("Hostile")) as connection:
        connection.execute(statement)  # the database may refuse it
    with connected(enter("North")) as connection:
        connection.execute("INSERT INTO presence VALUES (current_school(), '1.2', 3)")
        connection.execute("INSERT INTO school_days VALUES (current_school(), current_date, 7, 2, 40)")
    with connected(head) as connection:
        assert [each.name for each in standings(connection)] == ["Hostile", "North"]
    found = overview(head)
    north = next(school for school in found.schools if school.name == "North")
    assert (north.version, north.waiting, north.misses, north.pages) == ("1.2", 3, 7, 40)
    assert found.misses >= 7
