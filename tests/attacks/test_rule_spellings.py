"""What a rule blocks is blocked however its path is spelt: lenient servers read these as the same page."""

import pytest

from tests.attacks.attackers import send_raw
from tests.integration.origin import reply
from tests.integration.processes import serving

SPELLINGS = (
    *("/admin/a", "/%61dmin/a", "/./admin/a", "//admin/a", "/x/../admin/a", "/x/%2e%2e/admin/a"),
    *("/admin%2fa", "/%2Fadmin/a", "/admin%252fa", "/%5cadmin/a", "/\\admin/a", "/admin\\a"),
    *("/admin;x/a", "/admin;x=1/a;y", "/;/admin/a", "/x/..%2fadmin/a", "/x/..;/admin/a", "/x//..//admin/a"),
    *("/secret.html", "/secret%2ehtml", "/secret.html;x", "/secret.html%00.png", "//secret.html"),
    "/%61dmin/" + "a" * 9_000,
)


@pytest.fixture(scope="module")
def running(tmp_path_factory, site):
    data = tmp_path_factory.mktemp("attacks") / "data"
    (data / "rules.d").mkdir(parents=True)
    blocked = f'url = ["{site.url}/admin/*", "{site.url}/secret.html"]'
    (data / "rules.d" / "10.toml").write_text(f'[[rule]]\n{blocked}\naction = "block"\n', encoding="utf-8")
    with serving(data) as proxy:
        yield proxy


def status_of(running, site, path):
    place = f"127.0.0.1:{site.port}"
    asked = f"GET http://{place}{path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n"
    return send_raw(running, asked.encode()).split(b" ")[1]


def test_a_blocked_path_is_blocked_in_every_spelling(running, site):
    site.seen.clear()
    passed = [path[:40] for path in SPELLINGS if status_of(running, site, path) not in (b"403", b"400")]
    assert passed == []
    assert site.seen == []


def test_other_paths_are_not_blocked_for_their_spelling(running, site):
    for path in ("/a//b;c/%2f", "/administration;x/a", "/x/admin%2fa", "/q?to=//admin/a", "/secret.html5;x"):
        site.pages[path] = reply("there")
        assert status_of(running, site, path) == b"200", path
