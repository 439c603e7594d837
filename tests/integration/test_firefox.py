"""A teacher's hour in Debian's Firefox: a worksheet, its dead links, the lesson page of a class without internet."""

import re

import pytest

from tests.integration.client import PORTAL
from tests.integration.firefox import firefox
from tests.integration.test_teachers import (
    NAME,
    PASSWORD,
    SECURE,
    TOPICS,
    a_worksheet,
    line,
    origin,
    school,
    worksheet_links,
)

__all__ = ["line", "origin", "school"]
KEPT = 17
STATES = "[...document.querySelectorAll('.lesson-links > li > p > .state')].map(e => e.textContent)"
ON_LINK = "document.querySelector('#link-{number}')?.innerText.includes({words!r})"


@pytest.fixture
def person(program, tmp_path):
    """Opens a Firefox behind a running linkmend; each is another person."""

    def open_behind(running, who, **options):
        return firefox(
            program("firefox-esr", "firefox"),
            tmp_path / who,
            proxy=running.url,
            certutil=program("certutil"),
            ca=running.ca,
            **options,
        )

    return open_behind


def click_button(window, inside, words):
    """Click the button with these words."""
    window.evaluate(
        f"(e => setTimeout(() => e.click(), 50))([...document.querySelectorAll({inside!r} + ' button')]"
        f".find(e => e.innerText.includes({words!r})))"
    )


@pytest.mark.slow
def test_a_teachers_hour_in_firefox(school, origin, line, tmp_path, person):
    running = school()
    (tmp_path / "sheet.docx").write_bytes(a_worksheet(worksheet_links(origin)))
    with person(running, "teacher") as teacher:
        teacher.open(f"{PORTAL}/teach")
        assert not teacher.evaluate("document.querySelector('input[type=password]') != null")
        teacher.open(f"{SECURE}/teach")
        teacher.fill("#name", NAME)
        teacher.fill("#password", PASSWORD)
        teacher.click_through("form:has(#password) button", "location.pathname == '/teach'")
        teacher.choose_file("#file", tmp_path / "sheet.docx")
        teacher.click_through("form[enctype] button", "location.pathname.startsWith('/teach/lessons/')")
        teacher.wait_for(
            "!document.querySelector('.going') && document.querySelector('.lesson-links') != null"
        )
        states = teacher.evaluate(STATES)
        counts = [states.count(state) for state in ("Works", "Gone", "Looks gone", "Blocked")]
        assert counts == [9, 8, 2, 1], states
        for number in range(10, 10 + len(TOPICS)):
            teacher.click(f"#link-{number} .lines li button")
            teacher.wait_for(ON_LINK.format(number=number, words="Undo"))
        click_button(teacher, "main", "Keep all working pages")
        teacher.wait_for(
            "[...document.querySelectorAll('.deeds')].filter(e => e.innerText.includes('Kept for offline'))"
            f".length == {KEPT}"
        )
        click_button(teacher, "main", "Make a lesson page")
        teacher.wait_for("document.querySelector('#share .token') != null")
        short = teacher.evaluate("document.querySelector('#share .token').innerText")
        assert re.fullmatch(rf"{PORTAL}/l/[a-z0-9]{{6}}", short)
    line.close()
    with person(running, "pupil", width=390, height=800, locale="ar", color_scheme="dark") as pupil:
        pupil.open(short)
        assert pupil.evaluate("document.dir") == "rtl"
        targets = pupil.evaluate("[...document.querySelectorAll('.lesson-links .what > a')].map(e => e.href)")
        assert len(targets) == 19
        for target in targets[:KEPT]:
            pupil.open(target)
            assert "All about" in pupil.evaluate("document.querySelector('main').innerText"), target
            assert pupil.evaluate("location.href") == target
        pupil.open(targets[0])
        assert pupil.evaluate("document.images[0].naturalWidth") == 1
