# ruff: noqa: E501 (a document and a page's script have long lines)
"""A teacher's hour: log in, check a worksheet, replace what is dead, keep the rest, and the class works offline."""

import contextlib
import gzip
import io
import json
import os
import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proxy.admin.auth.passwords import Passwords
from proxy.admin.roles import Role
from tests.files import a_zip
from tests.integration.browser import launched
from tests.integration.client import PORTAL
from tests.integration.origin import Origin, reply
from tests.integration.processes import linkmend

SECURE = "https://linkmend.internal"
PASSWORD = "correct horse battery"
NAME = "Ms Achieng"
SETTINGS = """
[fetch]
pause_s = 0.0
[teach]
pause_s = 0.0
"""
SOFT = (
    "<html><head><title>Page not found</title></head><body><h1>Page not found</h1>"
    "<p>Sorry, the page you are looking for could not be found. It may have been moved or deleted.</p></body></html>"
)
TOPICS = (
    *("basalt columns", "coral reefs", "the water cycle", "Roman aqueducts"),
    *("photosynthesis in leaves", "lunar eclipses", "honey bees", "suspension bridges"),
)
PHOTO = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
)


def article(topic, picture=""):
    words = (
        f"<p>All about {topic}: how {topic} came to be, what {topic} look like, and why they matter. </p>"
        * 12
    )
    return f"<html><head><title>{topic.capitalize()}</title></head><body><main><h1>{topic.capitalize()}</h1>{picture}{words}</main></body></html>"


def a_worksheet(links):
    """A Word document: each link is (words, address)."""
    relations = "".join(
        f'<Relationship Id="r{n}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink" '
        f'Target="{url}" TargetMode="External"/>'
        for n, (_, url) in enumerate(links)
    )
    body = "".join(
        f'<w:p><w:r><w:t>Read about </w:t></w:r><w:hyperlink r:id="r{n}"><w:r><w:t>{words}</w:t></w:r></w:hyperlink></w:p>'
        for n, (words, _) in enumerate(links)
    )
    names = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    )
    return a_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {names}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": f"<Relationships>{relations}</Relationships>",
            "word/media/photo.png": PHOTO,
            "docProps/core.xml": '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Earth and life</dc:title></c>',
        }
    )


def take_picture(page, name):
    """A screenshot for people to look at, where TEACH_PICTURES says."""
    if folder := os.environ.get("TEACH_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def log_in(page, *, language=""):
    page.goto(f"{SECURE}/teach")
    page.fill("#name", NAME)
    page.fill("#password", PASSWORD)
    page.click("form:has(#password) button")
    page.wait_for_url(f"{SECURE}/teach")


def no_violations(axe, page):
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    wide = "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(
        f"{wide}.map(e => e.outerHTML.slice(0, 200))"
    )


@pytest.fixture
def line():
    """What keeps the site of the worksheet running; closing it cuts the line."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def origin(line):
    return line.enter_context(Origin())


@pytest.fixture
def school(tmp_path, origin, start_linkmend):
    """A school with eight topics saved under their new addresses; in the worksheet are the old ones."""
    data = tmp_path / "data"
    origin.pages["/robots.txt"] = reply("", status="404 Not Found")
    origin.pages["/photo.png"] = reply(PHOTO, kind="image/png")
    held = []
    for n, topic in enumerate(TOPICS):
        origin.pages[f"/articles/{n}-{topic.replace(' ', '-')}"] = reply(article(topic))
        url = f"{origin.url}/articles/{n}-{topic.replace(' ', '-')}"
        held.append({"url": url, "title": topic.capitalize(), "text": f"All about {topic}. " * 30})
    for n in range(9):
        topic = f"chapter {n} of the book"
        origin.pages[f"/book/{n}"] = reply(article(topic, "<img src=/photo.png alt=photo>"))
    for n in range(2):
        origin.pages[f"/soft/{n}"] = reply(SOFT)
    folder = tmp_path / "pages"
    folder.mkdir()
    with gzip.open(folder / "pages.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(page) + "\n" for page in held)
    with gzip.open(folder / "links.jsonl.gz", "wt") as file:
        file.write("")
    done = linkmend("import", folder, "--data", data)
    assert done.returncode == 0, done.stderr
    Passwords(data / "desk.json").set_password(PASSWORD + "s")
    Passwords(data / "desk.json").set_account(NAME, Role.TEACHER, PASSWORD)
    (data / "rules.d").mkdir()
    (data / "rules.d" / "games.toml").write_text(
        '[[rule]]\nname = "games"\nurl = "*/games/*"\naction = "block"\n'
    )
    return lambda: start_linkmend(settings=SETTINGS)


def worksheet_links(origin):
    """20 links: 9 that work, 8 dead, 2 soft 404s and 1 blocked."""
    return [
        *((f"Chapter {n}", f"{origin.url}/book/{n}") for n in range(9)),
        *((topic, f"{origin.url}/old/{topic.replace(' ', '_')}.htm") for topic in TOPICS),
        *((f"Lost {n}", f"{origin.url}/soft/{n}") for n in range(2)),
        ("A game", f"{origin.url}/games/1"),
    ]


@pytest.mark.slow
def test_a_teachers_hour(school, origin, line, tmp_path, program):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    running, links = school(), worksheet_links(origin)
    document = a_worksheet(links)
    (tmp_path / "sheet.docx").write_bytes(document)
    with launched(
        program("chromium"), tmp_path / "home", proxy=running.url, certutil=program("certutil"), ca=running.ca
    ) as browser:
        teacher = browser.new_context(viewport={"width": 1200, "height": 900}).new_page()
        teacher.goto(f"{PORTAL}/teach")
        no_violations(axe, teacher)
        take_picture(teacher, "1-http")
        assert not teacher.query_selector("input[type=password]")
        teacher.click("a.button")
        teacher.wait_for_selector("#password")
        no_violations(axe, teacher)
        take_picture(teacher, "2-login")
        log_in(teacher)
        no_violations(axe, teacher)
        take_picture(teacher, "3-home")
        teacher.set_input_files("#file", str(tmp_path / "sheet.docx"))
        teacher.click("form[enctype] button")
        teacher.wait_for_url(re.compile(r"/teach/lessons/\d+$"))
        teacher.wait_for_selector("body:not(:has(.going)) .lesson-links", timeout=90_000)
        lesson = teacher.url
        states = teacher.eval_on_selector_all(
            ".lesson-links > li > p > .state", "all => all.map(e => e.textContent)"
        )
        assert [states.count(state) for state in ("Works", "Gone", "Looks gone", "Blocked")] == [9, 8, 2, 1]
        no_violations(axe, teacher)
        take_picture(teacher, "4-checked")
        for n, _ in enumerate(TOPICS):
            offered = teacher.get_attribute(f"#link-{10 + n} .lines li a", "href")
            assert f"/articles/{n}-" in offered
            teacher.click(f"#link-{10 + n} .lines li button")
            teacher.wait_for_selector(f"#link-{10 + n} button:has-text('Undo')")
        teacher.click("#link-20 button:has-text('Ask the admin')")
        teacher.wait_for_selector("#link-20 :text('The admin has been asked')")
        teacher.click("button:has-text('Keep all working pages')")
        kept = teacher.locator(".deeds:has-text('Kept for offline')")
        expect(kept).to_have_count(17, timeout=120_000)
        teacher.click("button:has-text('Make a lesson page')")
        short = teacher.inner_text("#share .token")
        assert re.fullmatch(rf"{PORTAL}/l/[a-z0-9]{{6}}", short)
        take_picture(teacher, "5-kept")
        with teacher.expect_download() as download:
            teacher.click("a:has-text('Download the document')")
        check_document(document, Path(download.value.path()).read_bytes(), links, origin)
        phone = browser.new_context(viewport={"width": 390, "height": 800}, locale="ar").new_page()
        log_in(phone)
        no_violations(axe, phone)
        take_picture(phone, "6-home-ar-390")
        phone.goto(lesson)
        no_violations(axe, phone)
        take_picture(phone, "7-lesson-ar-390")
        assert phone.get_attribute("html", "dir") == "rtl"
        line.close()
        pupil = browser.new_context(viewport={"width": 390, "height": 800}).new_page()
        pupil.goto(short)
        no_violations(axe, pupil)
        take_picture(pupil, "8-pupil-390")
        targets = pupil.eval_on_selector_all(".lesson-links .what > a", "all => all.map(e => e.href)")
        assert len(targets) == 19
        for target in targets[:17]:
            assert pupil.goto(target).status == 200
            assert "All about" in pupil.inner_text("main")
        pupil.goto(targets[0])
        assert pupil.evaluate("document.images[0].naturalWidth") == 1
    assert "POST /teach/lessons" in (running.data / "audit.jsonl").read_text()


def check_document(before, after, links, origin):
    """The file that comes back differs in the targets of its dead links, and in nothing else."""
    old, new = zipfile.ZipFile(io.BytesIO(before)), zipfile.ZipFile(io.BytesIO(after))
    changed = [name for name in old.namelist() if old.read(name) != new.read(name)]
    assert new.namelist() == old.namelist()
    assert changed == ["word/_rels/document.xml.rels"]
    expected = old.read(changed[0]).decode()
    for n, topic in enumerate(TOPICS):
        expected = expected.replace(links[9 + n][1], f"{origin.url}/articles/{n}-{topic.replace(' ', '-')}")
    assert new.read(changed[0]).decode() == expected


@pytest.mark.slow
def test_nothing_of_pupils_is_visible_to_a_teacher(school, origin, tmp_path, program):
    """A pupil misses a page; no page that a teacher reaches names it, and the desk's pages refuse the teacher."""
    running = school()
    code = Passwords(running.data / "desk.json").new_code("7b", ends_at=datetime(2099, 1, 1, tzinfo=UTC))
    with launched(
        program("chromium"), tmp_path / "home", proxy=running.url, certutil=program("certutil"), ca=running.ca
    ) as browser:
        pupil = browser.new_context().new_page()
        pupil.goto(f"{origin.url}/a-pupils-secret-page")
        teacher = browser.new_context().new_page()
        teacher.goto(f"{SECURE}/teach")
        teacher.fill("#code", code.lower())
        teacher.click("form:has(#code) button")
        teacher.wait_for_url(f"{SECURE}/teach")
        for path in (
            "/admin",
            "/admin/misses",
            "/admin/live",
            "/admin/api/misses",
            "/admin/misses/export.csv",
        ):
            answer = teacher.goto(f"{SECURE}{path}")
            assert answer.status == 403, path
            assert "secret-page" not in answer.text()
        assert "secret-page" not in teacher.goto(f"{SECURE}/teach").text()
