"""A teacher's own pages, a link fixed for everybody, a topic, and what a pupil looked for, in a browser."""

import pytest
from playwright.sync_api import expect

from proxy.admin.auth.passwords import Passwords
from proxy.admin.roles import Role
from tests.integration.browser import launched
from tests.integration.origin import reply
from tests.integration.test_teachers import (
    NAME,
    PASSWORD,
    SECURE,
    TOPICS,
    line,
    log_in,
    no_violations,
    origin,
    school,
    take_picture,
)

__all__ = ["line", "origin", "school"]
LOOKS = (
    ("desktop-light-en", {"width": 1200, "height": 900}, "light", "en"),
    ("390-dark-ar", {"width": 390, "height": 800}, "dark", "ar"),
    ("desktop-dark-ar", {"width": 1200, "height": 900}, "dark", "ar"),
    ("390-light-en", {"width": 390, "height": 800}, "light", "en"),
)


@pytest.mark.slow
def test_pages_of_a_teacher_and_words_of_a_pupil(school, origin, tmp_path, program):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    dead = f"{origin.url}/old/{TOPICS[0].replace(' ', '_')}.htm"
    text = "<p>Words about this course and what we read in it every week of the term. </p>" * 10
    origin.pages["/course"] = reply(
        f"<html><head><title>Earth course</title></head><body><main><h1>Earth course</h1>{text}"
        f"<p>Read about <a href='{dead}'>{TOPICS[0]}</a> and <a href='/book/1'>chapter 1</a>.</p></main>"
        "</body></html>"
    )
    running = school()
    Passwords(running.data / "desk.json").set_account("Rev", Role.REVIEWER, PASSWORD)
    with launched(
        program("chromium"), tmp_path / "home", proxy=running.url, certutil=program("certutil"), ca=running.ca
    ) as browser:
        teacher = browser.new_context().new_page()
        log_in(teacher)
        teacher.goto(f"{SECURE}/teach/pages")
        teacher.fill("#page", f"{origin.url}/course")
        teacher.keyboard.press("Enter")
        teacher.wait_for_selector(".entries .state.bad", timeout=60_000)
        assert teacher.inner_text(".entries .state") == "Dead links: 1"
        teacher.click(".entries a")
        teacher.click("button:has-text('Fix for everybody')")
        teacher.wait_for_selector(":text('a reviewer decides')")
        chosen = teacher.get_attribute(".lines li a", "href")

        reviewer = browser.new_context().new_page()
        reviewer.goto(f"{SECURE}/admin/login")
        reviewer.fill("[name=username]", "Rev")
        reviewer.fill("[name=password]", PASSWORD)
        reviewer.keyboard.press("Enter")
        reviewer.wait_for_url(f"{SECURE}/admin")
        reviewer.goto(f"{SECURE}/admin/proposals")
        no_violations(axe, reviewer)
        take_picture(reviewer, "desk-proposals")
        reviewer.click("button:has-text('Approve')")
        reviewer.wait_for_selector("button:has-text('Undo')")

        pupil = browser.new_context(java_script_enabled=False).new_page()
        pupil.goto(f"{origin.url}/course")
        pupil.click("main a >> nth=0")
        assert pupil.get_attribute("#alternatives li >> nth=0", "data-url") == chosen
        pupil.click("#suggest summary")
        pupil.fill("#words", "how <i>basalt</i> cools")
        take_picture(pupil, "pupil-suggests")
        pupil.keyboard.press("Enter")
        expect(pupil.locator("h1")).to_have_text("Thank you")
        take_picture(pupil, "pupil-thanks")
        pupil.goto(f"{origin.url}/nobodys-link")
        pupil.click("#suggest summary")
        pupil.fill("#words", "lunar maps")
        pupil.click("#suggest button")
        expect(pupil.locator("h1")).to_have_text("Thank you")
        assert not any("suggest" in path for path in origin.asked)

        teacher.goto(f"{SECURE}/teach/suggestions")
        assert teacher.inner_text(".entries b") == "how <i>basalt</i> cools"
        reviewer.goto(f"{SECURE}/admin/suggestions")
        assert "lunar maps" in reviewer.inner_text("main")
        assert "basalt" not in reviewer.inner_text("main")
        no_violations(axe, reviewer)
        take_picture(reviewer, "desk-suggestions")

        teacher.goto(f"{SECURE}/teach/topics")
        teacher.fill("#name", "Geology")
        teacher.fill("#words", "basalt\ngranite")
        teacher.fill("#seeds", f"{origin.url}/book/2")
        teacher.click("form[action='/teach/topics'] button")
        expect(teacher.locator(".entries b")).to_have_text("Geology")

        for name, size, scheme, language in LOOKS:
            page = browser.new_context(viewport=size, color_scheme=scheme, locale=language).new_page()
            log_in(page)
            for place in ("pages", "topics", "suggestions", "lessons/1"):
                page.goto(f"{SECURE}/teach/{place}")
                no_violations(axe, page)
                take_picture(page, f"{place.replace('/', '-')}-{name}")
            page.goto(dead)
            page.click("#suggest summary")
            no_violations(axe, page)
            take_picture(page, f"repair-{name}")
    audit = (running.data / "audit.jsonl").read_text()
    assert NAME in audit
    assert "POST /admin/proposals/approve" in audit
