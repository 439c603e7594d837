"""The admin's rules through the real proxy: what each does, and that an edit takes effect at once."""

import hashlib
import http.client
import ssl

import pytest

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually

FAST = "[collection]\ncommit_every_s = 0.2\n"
LAVA = (
    "<title>Volcanoes and their eruptions</title><body><p>Lava and ash come out of volcanoes. "
    + "Lava. " * 60
)
START = '<title>Start</title><p>Read about <a href="/old">volcanoes and their eruptions</a>.'


class School:
    """A running linkmend with a folder of rules."""

    def __init__(self, start, tmp_path, *arguments, settings=FAST):
        self.folder = tmp_path / "data" / "rules.d"
        self.folder.mkdir(parents=True)
        self.start = lambda: start(*arguments, settings=settings)
        self.proxy = None

    def rules(self, text, name="10.toml"):
        """Write a file of rules; when linkmend runs, wait until it has loaded it."""
        (self.folder / name).write_text(text, encoding="utf-8")
        if self.proxy is None:
            self.proxy = self.start()
            self.reader = Client(self.proxy.url, self.proxy.ca)
        return self


@pytest.fixture
def school(start_linkmend, tmp_path):
    return School(start_linkmend, tmp_path)


def test_blocked_site_is_answered_with_the_reason_and_never_contacted(school, origin, secure_origin):
    school.rules('[[rule]]\ndomain = "127.0.0.1"\naction = "block"\nreason = "Exam week"\n')
    for site in (origin, secure_origin):
        answer = school.reader.open_page(f"{site.url}/page")
        assert answer.status == 403
        assert "Exam week" in answer.text
        assert (
            school.reader.get(f"{site.url}/picture.png", Accept="image/*").headers.get_content_type()
            == "text/plain"
        )
        assert not site.asked


def test_a_large_upload_to_a_blocked_site_does_not_leave(school, origin):
    school.rules('[[rule]]\naction = "block"\n')
    connection = http.client.HTTPConnection("127.0.0.1", school.proxy.port, timeout=30)
    connection.request("POST", f"{origin.url}/upload", body=b"x" * 3_000_000)
    assert connection.getresponse().status == 403
    assert not origin.asked


def test_an_edit_takes_effect_without_a_restart_and_on_an_open_connection(school, origin):
    origin.pages["/page"] = reply("hello", Cache_Control="no-store")
    school.rules("")
    connection = http.client.HTTPConnection("127.0.0.1", school.proxy.port, timeout=30)

    def status():
        connection.request("GET", f"{origin.url}/page", headers={"Accept": "text/html"})
        response = connection.getresponse()
        response.read()
        return response.status

    assert status() == 200
    opened = connection.sock
    school.rules('[[rule]]\nurl = "*/page"\naction = "block"\n')
    eventually(lambda: status() == 403, "the new rule has no effect", timeout_s=10)
    assert connection.sock is opened


def test_a_broken_file_leaves_the_last_good_rules_in_force_and_says_so(school, origin):
    origin.pages["/page"] = reply("hello")
    school.rules('[[rule]]\nurl = "*/closed"\naction = "block"\n')
    school.rules('[[rule]]\nurl = "*/closed"\naction = "blok"\n')
    school.proxy.wait_for_line("10.toml:3")
    assert school.reader.open_page(f"{origin.url}/closed").status == 403
    assert school.reader.open_page(f"{origin.url}/page").status == 200


def test_redirect_rule_leads_to_the_new_address(school, origin):
    school.rules(f'[[rule]]\nurl = "*/old/*"\naction = "redirect"\nto = "{origin.url}/new{{path}}"\n')
    answer = school.reader.open_page(f"{origin.url}/old/a?b=c")
    assert answer.status == 302
    assert answer.headers["Location"].startswith(f"{origin.url}/new/old/a")


@pytest.mark.parametrize("size", [1_000, 3_000_000])
def test_content_type_rule_applies_to_stored_responses(school, origin, size):
    origin.pages["/film"] = reply("x" * size, kind="video/mp4", Cache_Control="max-age=600")
    school.rules("")
    for _ in range(3):
        assert len(school.reader.get(f"{origin.url}/film").text) == size
    assert origin.asked["/film"] == 1
    school.rules('[[rule]]\ncontent_type = "video/*"\naction = "block"\n')
    eventually(lambda: school.reader.get(f"{origin.url}/film").status == 403, "it is still shown")
    assert "xxx" not in school.reader.get(f"{origin.url}/film").text


def test_content_type_rule_applies_to_revalidated_responses(school, origin):
    origin.pages["/film"] = reply("xxx", kind="video/mp4", Cache_Control="no-cache", ETag='"1"')
    school.rules("")
    assert school.reader.get(f"{origin.url}/film").text == "xxx"

    async def unchanged(exchange):
        await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')

    origin.pages["/film"] = unchanged
    assert school.reader.get(f"{origin.url}/film").text == "xxx"
    school.rules('[[rule]]\ncontent_type = "video/*"\naction = "block"\n')
    eventually(lambda: school.reader.get(f"{origin.url}/film").status == 403, "it is still shown")


def test_offline_rule_serves_stored_pages_only(school, origin):
    origin.pages["/held"] = reply("held", Cache_Control="max-age=0", ETag='"1"')
    school.rules("")
    school.reader.open_page(f"{origin.url}/held")
    school.rules('[[rule]]\naction = "offline-only"\n')
    eventually(
        lambda: school.reader.open_page(f"{origin.url}/unheld").miss == "offline", "it is still asked for"
    )
    asked = origin.asked.total()
    assert school.reader.open_page(f"{origin.url}/held").text == "held"
    assert school.reader.open_page(f"{origin.url}/another").miss == "offline"
    assert origin.asked.total() == asked


def test_no_cache_rule_always_fetches_and_stores_nothing(school, origin):
    for path in ("/page", "/film"):
        kind = "video/mp4" if path == "/film" else "text/html"
        origin.pages[path] = reply("x", kind=kind, Cache_Control="max-age=600")
    school.rules(
        '[[rule]]\nurl = "*/page"\naction = "no-cache"\n[[rule]]\ncontent_type = "video/*"\naction = "no-cache"\n'
    )
    for path in ("/page", "/film"):
        for _ in range(3):
            answer = school.reader.get(origin.url + path)
            assert "stored" not in answer.headers["Cache-Status"]
        assert origin.asked[path] == 3


def test_rules_block_by_content_type_and_redirect_a_missing_page(school, origin):
    origin.pages["/film"] = reply(b"x" * 5_000_000, kind="video/mp4", Cache_Control="max-age=600")
    school.rules(
        '[[rule]]\ncontent_type = "video/*"\naction = "block"\nreason = "No films"\n'
        '[[rule]]\nmiss = ["not_found"]\naction = "redirect"\nto = "http://new.test{path}"\n'
    )
    for _ in range(2):
        answer = school.reader.open_page(f"{origin.url}/film")
        assert answer.status == 403
        assert "No films" in answer.text
    answer = school.reader.open_page(f"{origin.url}/nothing")
    assert (answer.status, answer.headers["Location"]) == (302, "http://new.test/nothing")


def test_no_index_keeps_a_page_out_of_the_search(school, origin):
    origin.pages["/open"] = reply("<title>Open</title><p>Zebras graze here in great herds.")
    origin.pages["/kept-out"] = reply("<title>Kept out</title><p>Zebras graze there as well, unseen.")
    school.rules('[[rule]]\nurl = "*/kept-out"\naction = "no-index"\n')
    school.reader.open_page(f"{origin.url}/kept-out")
    school.reader.open_page(f"{origin.url}/open")
    found = eventually(
        lambda: (told := school.reader.search("zebras").text) and "/open" in told and told, "not found"
    )
    assert "/kept-out" not in found


def test_pass_rule_leaves_an_error_unchanged(school, origin):
    school.rules('[[rule]]\nmiss = ["not_found"]\naction = "pass"\n')
    answer = school.reader.open_page(f"{origin.url}/nothing")
    assert (answer.status, answer.miss, answer.text) == (404, None, "<h1>Not here</h1>")


def shown_certificate(proxy, origin):
    """The certificate that a client sees through a tunnel."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
    connection.set_tunnel("127.0.0.1", origin.port)
    connection.connect()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(connection.sock, server_hostname="localhost") as tunnel:
        shown = tunnel.getpeercert(binary_form=True)
        tunnel.sendall(b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = b""
        while b"words" not in said and (more := tunnel.recv(4096)):
            said += more
    return hashlib.sha256(shown).digest(), said


def its_own(origin):
    der = ssl.PEM_cert_to_DER_cert(origin.pem.read_text(encoding="ascii"))
    return hashlib.sha256(der).digest()


def test_bypassed_site_shows_its_own_certificate(school, secure_origin):
    secure_origin.pages["/page"] = reply("private words", Cache_Control="max-age=600")
    school.rules('[[rule]]\ndomain = "127.0.0.1"\naction = "bypass"\n')
    shown, said = shown_certificate(school.proxy, secure_origin)
    assert shown == its_own(secure_origin)
    assert b"private words" in said
    assert b"Cache-Status" not in said
    assert secure_origin.asked["/page"] == 1


def test_sni_alone_does_not_bypass_anything(school, secure_origin):
    secure_origin.pages["/page"] = reply("words")
    school.rules('[[rule]]\ndomain = "localhost"\naction = "bypass"\n')  # the tunnel leads to 127.0.0.1
    shown, _ = shown_certificate(school.proxy, secure_origin)
    assert shown != its_own(secure_origin)


def test_a_bypassed_site_is_reached_through_the_parent(start_linkmend, start_squid, secure_origin, tmp_path):
    squid = start_squid()
    secure_origin.pages["/page"] = reply("private words")
    school = School(start_linkmend, tmp_path, "--parent", squid.url)
    school.rules('[[rule]]\ndomain = "127.0.0.1"\naction = "bypass"\n')
    shown, said = shown_certificate(school.proxy, secure_origin)
    assert shown == its_own(secure_origin)
    assert b"private words" in said
    squid.stop()
    with pytest.raises((ConnectionError, ssl.SSLError)):  # straight to the site would have worked
        shown_certificate(school.proxy, secure_origin)


def test_shipped_site_list_is_passed_through(start_linkmend, secure_origin, tmp_path):
    listed = tmp_path / "banks.txt"
    listed.write_text("# ours\n127.0.0.1\n", encoding="utf-8")
    school = School(start_linkmend, tmp_path, settings=f'[proxy]\npass_through = ["{listed}"]\n')
    school.rules("")
    secure_origin.pages["/page"] = reply("private words")
    assert shown_certificate(school.proxy, secure_origin)[0] == its_own(secure_origin)


def test_auto_redirect_leads_to_a_page_that_names_the_missing_address(school, origin, open_browser):
    origin.pages |= {"/start": reply(START), "/earth/volcanoes": reply(LAVA, Cache_Control="max-age=600")}
    school.rules("")
    school.reader.open_page(f"{origin.url}/start")
    school.reader.open_page(f"{origin.url}/earth/volcanoes")
    eventually(lambda: "/earth/volcanoes" in school.reader.repair(f"{origin.url}/old").text, "not held yet")
    school.rules("[[rule]]\nauto_follow = 0.1\n")
    eventually(
        lambda: Client(school.proxy.url, source="127.0.0.8").open_page(f"{origin.url}/old").status == 302,
        "no rule yet",
    )
    page = open_browser(school.proxy)
    page.goto(f"{origin.url}/start")
    page.click("a")
    page.wait_for_selector("#linkmend-arrived")
    assert page.url == f"{origin.url}/earth/volcanoes"
    assert page.locator("#linkmend-arrived bdi").inner_text() == f"127.0.0.1:{origin.port}/old"
    assert page.locator("#linkmend-arrived").evaluate("it => getComputedStyle(it).display") == "block"
    page.click("#linkmend-arrived a")
    page.wait_for_selector("#alternatives")
    assert page.url == f"{origin.url}/old"
    plain = school.reader.open_page(f"{origin.url}/earth/volcanoes")
    assert "linkmend-arrived" not in plain.text
