import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.pages.timeview import TimeView
from proxy.portal.devices import CertificateForm
from proxy.portal.helper import (
    Anyway,
    Archived,
    Certificate,
    Chose,
    Copy,
    Mementos,
    Pac,
    Portal,
    Privacy,
    Refused,
    Search,
    Static,
    ToPortal,
    Trusted,
    anyway_path,
    chose_path,
    copy_path,
    navigation,
    route,
    search_path,
)

SITE = "http://school.test"
PORTAL = "http://linkmend.internal"
A_CLICK = (("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Site", "cross-site"))
MISS_ID = "q3Yd0r0c2ZkXo2l8mB1tPw"


def got(url, headers=A_CLICK, method="GET", **known):
    return route(method, url, headers, **known)


@pytest.mark.parametrize(
    "url",
    [
        "http://school.test/",
        "http://school.test/.well-known/linkmen",
        "http://school.test/x/.well-known/linkmend/search",
        "http://school.test/.well-known/linkmend",
        "http://notlinkmend.internal/search",
        "http://linkmend.internal.evil.test/",
        "http://[::1",
        "",
    ],
)
def test_addresses_of_others_are_not_ours(url):
    assert got(url) is None


@pytest.mark.parametrize(
    ("url", "call"),
    [
        (SITE + "/.well-known/linkmend/search?q=water+cycle", Search(query="water cycle")),
        (SITE + "/.well-known/linkmend/search", Search(query="")),
        (
            SITE + "/.well-known/linkmend/copy?url=http%3A%2F%2Fa.test%2F%3Fb%26c",
            Copy(url="http://a.test/?b&c"),
        ),
        (SITE + "/.well-known/linkmend/static/page.css", Static(name="page.css")),
        (PORTAL + "/", Portal()),
        (PORTAL, Portal()),
        ("https://LINKMEND.internal./", Portal()),
        (PORTAL + "/search?q=a", Search(query="a")),
        (PORTAL + "/copy?url=http://a.test/", Copy(url="http://a.test/")),
        (PORTAL + "/.well-known/linkmend/search?q=a", Search(query="a")),
        (PORTAL + "/ca.pem", Certificate(form=CertificateForm.PEM)),
        (PORTAL + "/ca.cer", Certificate(form=CertificateForm.DER)),
        (PORTAL + "/ca.mobileconfig", Certificate(form=CertificateForm.PROFILE)),
        (SITE + "/.well-known/linkmend/ca.crt", Certificate(form=CertificateForm.PEM_CRT)),
        (PORTAL + "/privacy", Privacy()),
        (SITE + "/.well-known/linkmend/privacy", Privacy()),
        ("https://linkmend.internal/trusted", Trusted(picture=False)),
        ("https://linkmend.internal/trusted.svg", Trusted(picture=True)),
        (PORTAL + "/nowhere", Refused(status=404)),
        (SITE + "/.well-known/linkmend/", Portal()),
        (SITE + "/.well-known/linkmend/nowhere", Refused(status=404)),
        (SITE + "/.well-known/linkmend/static/../../settings.py", Refused(status=404)),
        (SITE + "/.well-known/linkmend/static/%2e%2e/x", Refused(status=404)),
        (SITE + "/.well-known/linkmend/copy", Refused(status=400)),
        (SITE + "/.well-known/linkmend/copy?url=" + "a" * 5_000, Refused(status=400)),
        (SITE + "/.well-known/linkmend/search?" + "&".join("q=1" for _ in range(99)), Refused(status=400)),
    ],
)
def test_our_own_addresses_are_known(url, call):
    assert got(url) == call


@pytest.mark.parametrize(("page", "path"), [("", "/"), ("privacy", "/.well-known/linkmend/privacy")])
def test_what_tells_of_the_school_is_shown_under_no_plain_http_site(page, path):
    url = f"http://school.test/.well-known/linkmend/{page}"
    assert got(url, headers=()) == ToPortal(url=PORTAL + path)
    assert got(url, headers=(), portal_reachable=False) == got(PORTAL + path)


@pytest.mark.parametrize("name", ["trusted", "trusted.svg"])
def test_what_proves_trust_is_only_answered_over_https(name):
    assert got(f"{PORTAL}/{name}") == ToPortal(url="https://linkmend.internal/.well-known/linkmend/trusted")


@pytest.mark.parametrize("path", ["/proxy.pac", "/wpad.dat"])
def test_the_proxy_settings_are_at_the_portal_at_our_own_address_and_where_devices_look_for_them(path):
    for url in (
        PORTAL,
        "http://10.0.0.5:8080",
        "http://wpad",
        "http://wpad.school.lan",
        "http://proxy.lan:3128",
    ):
        assert got(url + path, own="10.0.0.5:8080", public="proxy.lan:3128") == Pac(), url
    assert got(f"http://10.0.0.5:8080{path}", own="10.0.0.5:8080", method="POST") == Refused(status=405)


@pytest.mark.parametrize(
    "url",
    [
        "http://school.test/proxy.pac",
        "http://10.0.0.5/proxy.pac",
        "http://notwpad.test/wpad.dat",
        "http:///wpad.dat",
    ],
)
def test_the_proxy_settings_of_others_are_not_ours(url):
    assert got(url, own="10.0.0.5:8080") is None
    assert got(url) is None


def test_a_site_called_wpad_does_not_learn_the_address_of_the_proxy():
    assert got("http://wpad.evil.example.com/wpad.dat") is None
    assert got("http://wpad.lan.example.com/wpad.dat") is None


def test_where_browsers_do_not_know_the_proxy_there_are_no_settings_for_it():
    assert got("http://wpad/wpad.dat", portal_reachable=False) is None


def test_a_query_is_cut_to_what_a_person_would_type():
    assert got(PORTAL + "/search?q=" + "a" * 5_000) == Search(query="a" * 200)


@pytest.mark.parametrize(
    ("mode", "dest"),
    [
        ("cors", "empty"),
        ("no-cors", "empty"),
        ("same-origin", "empty"),
        ("navigate", "iframe"),
        ("navigate", "frame"),
        ("navigate", "object"),
        ("navigate", "embed"),
        ("no-cors", "script"),
        ("no-cors", "image"),
        ("websocket", "empty"),
        ("navigate", ""),
    ],
)
@pytest.mark.parametrize("page", ["search?q=a", "copy?url=http://a.test/", "", "privacy"])
@pytest.mark.parametrize("host", [SITE, "https://linkmend.internal"])
def test_a_script_or_a_frame_does_not_get_the_collection(mode, dest, page, host):
    headers = (("sec-fetch-mode", mode), ("sec-fetch-dest", dest))
    assert got(f"{host}/.well-known/linkmend/{page}", headers) == Refused(status=403)


def test_on_plain_http_the_reader_is_sent_to_the_portal():
    url = "http://school.test/.well-known/linkmend/search?q=a%26b"
    assert got(url, ()) == ToPortal(url="http://linkmend.internal/.well-known/linkmend/search?q=a%26b")
    copy = "http://school.test/.well-known/linkmend/copy?url=http%3A%2F%2Fa.test%2F"
    assert got(copy, ()) == ToPortal(
        url="http://linkmend.internal/.well-known/linkmend/copy?url=http%3A%2F%2Fa.test%2F"
    )


@pytest.mark.parametrize("preload", ["true", "x", ""])
def test_what_a_service_worker_may_read_is_at_the_portal(preload):
    """There may be one on every https site, and there is one where a navigation is preloaded."""
    path = "/.well-known/linkmend/search?q=a"
    handed_on = (*A_CLICK, ("Service-Worker-Navigation-Preload", preload))
    assert got("https://school.test" + path) == ToPortal(url="https://linkmend.internal" + path)
    assert got(SITE + path, handed_on) == ToPortal(url=PORTAL + path)
    assert got("https://linkmend.internal" + path) == Search(query="a")
    assert got("https://school.test" + path, portal_reachable=False) == Search(query="a")
    assert got("https://school.test" + path, handed_on, portal_reachable=False) == Refused(status=403)


def test_the_portal_itself_answers_without_fetch_metadata():
    assert got(PORTAL + "/search?q=a", ()) == Search(query="a")


def test_where_the_portal_cannot_be_reached_the_answer_is_given_in_place():
    url = "http://school.test/.well-known/linkmend/search?q=a"
    assert got(url, (), portal_reachable=False) == Search(query="a")


def test_a_choice_is_told_by_post_from_any_kind_of_request():
    url = SITE + f"/.well-known/linkmend/chose?miss={MISS_ID}&n=2"
    beacon = (("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "empty"))
    assert got(url, beacon, "POST") == Chose(miss_id=MISS_ID, number=2)
    assert got(url, beacon, "GET") == Refused(status=405)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "miss=short&n=1",
        f"miss={MISS_ID}",
        f"miss={MISS_ID}&n=-1",
        f"miss={MISS_ID}&n=1e9",
        "miss=a/b&n=1",
    ],
)
def test_a_malformed_choice_is_refused(query):
    assert got(SITE + "/.well-known/linkmend/chose?" + query, method="POST") == Refused(status=400)


def test_a_withheld_page_is_shown_by_a_persons_own_navigation_only():
    url = SITE + anyway_path(MISS_ID)
    assert got(url, (("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"))) == Anyway(
        miss_id=MISS_ID
    )
    assert got(url, ()) == Anyway(miss_id=MISS_ID)
    assert got(url, (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"))) == Refused(status=403)
    assert got(url, method="POST") == Refused(status=405)
    assert got(SITE + "/.well-known/linkmend/anyway?miss=http://evil.test/") == Refused(status=400)


def test_pages_are_only_read():
    assert got(PORTAL + "/search?q=a", method="POST") == Refused(status=405)
    assert got(PORTAL + "/", method="HEAD") == Portal()


def test_what_the_browser_does_not_say_is_not_known():
    assert navigation((("Accept", "text/html"),)) is None


@given(st.text(max_size=150))
def test_paths_lead_back_to_what_they_were_made_from(text):
    sound = text.encode("utf-8", "replace").decode()
    assert got(PORTAL + search_path(sound)) == Search(query=sound)
    if sound:
        assert got(PORTAL + copy_path(sound)) == Copy(url=sound)


def test_a_choice_leads_back_to_its_miss():
    assert got(SITE + chose_path(MISS_ID, 3), method="POST") == Chose(miss_id=MISS_ID, number=3)


@given(st.text())
def test_no_path_breaks_the_routing(text):
    got(PORTAL + "/" + text)
    got(SITE + "/.well-known/linkmend/" + text)
    got(text)


AS_AN_ARCHIVE = (
    "/timemap/link/http://a.test/?b&c",
    "/timegate/a.test",
    "/memento/20200101000000id_/http://a.test/",
)


@pytest.mark.parametrize("target", AS_AN_ARCHIVE)
def test_the_portal_is_a_web_archive_for_programs_and_people(target):
    asked = Archived(target=target, base=PORTAL)
    assert got(PORTAL + target, ()) == got(PORTAL + target) == asked
    extension = (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Site", "none"))
    assert got(PORTAL + target, extension) == asked
    assert got(PORTAL + target, (("Origin", "moz-extension://1234"),)) == asked
    assert got(PORTAL + target, method="HEAD") == asked
    assert got(PORTAL + target, method="POST") == Refused(status=405)


@pytest.mark.parametrize("target", AS_AN_ARCHIVE)
@pytest.mark.parametrize(
    "headers",
    [
        (("Origin", "http://evil.test"),),
        (("Origin", "null"),),
        (("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Site", "cross-site")),
        (("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Site", "cross-site")),
    ],
)
def test_a_page_of_a_site_cannot_ask_what_versions_are_held(target, headers):
    assert got(PORTAL + target, headers) == Refused(status=403)


@pytest.mark.parametrize("target", AS_AN_ARCHIVE)
def test_programs_that_know_no_proxy_read_the_archive_at_our_own_address_only(target):
    own = "10.0.0.5:8080"
    assert got(f"http://{own}{target}", (), own=own) == Archived(target=target, base=f"http://{own}")
    assert got(f"http://{own}/search?q=a", (), own=own) is None
    assert got(f"http://rebound.test:8080{target}", (), own=own) is None
    assert got(f"http://{own}{target}", ()) is None
    assert got(f"http://{own}/.well-known/linkmend{target}", own=own) == Refused(status=404)


MEMENTOS = f"https://site.test/.well-known/linkmend/mementos?miss={'m' * 22}"


def test_archived_versions_are_asked_for_under_the_id_of_the_miss():
    call = route("GET", f"{MEMENTOS}&year=2013&archive=a".replace("https:", "http:"), A_CLICK)
    assert call == Mementos(miss_id="m" * 22, view=TimeView(year=2013, archive="a"))
    assert route("GET", "https://site.test/.well-known/linkmend/mementos?miss=short", ()) == Refused(
        status=400
    )
    assert route("POST", MEMENTOS, ()) == Refused(status=405)
    assert route("GET", f"{MEMENTOS}&part=1&seen=x", ()) == Refused(status=400)


@pytest.mark.parametrize(
    "headers",
    [(), (("Origin", "https://site.test"),), (("Origin", "null"), ("Origin", "https://site.test"))],
)
def test_a_part_of_it_is_only_for_a_script_in_the_sandbox(headers):
    assert route("GET", f"{MEMENTOS}&part=1", headers) == Refused(status=403)
    asked = route("GET", f"{MEMENTOS}&part=1&seen=3", (("Origin", "null"), ("Sec-Fetch-Mode", "cors")))
    assert (asked.part, asked.seen) == (True, 3)


def test_on_plain_http_the_page_of_archived_versions_is_at_the_portal():
    plain = MEMENTOS.replace("https:", "http:") + "&year=2013"
    assert route("GET", plain, ()) == ToPortal(url=plain.replace("site.test", "linkmend.internal"))
    assert isinstance(route("GET", plain.replace("site.test", "linkmend.internal"), ()), Mementos)


def test_a_script_cannot_fetch_the_page_of_archived_versions():
    assert route("GET", MEMENTOS, (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"))) == Refused(
        status=403
    )
