import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.portal.addresses import BrowseList, anyway_path, chose_path, copy_path, search_path
from proxy.portal.devices import CertificateForm
from proxy.portal.routemodel import (
    ArchivedRoute,
    BrowseRoute,
    CertificateRoute,
    ChoiceRoute,
    CopyRoute,
    LateOffersRoute,
    MementosRoute,
    PacRoute,
    PortalRoute,
    PrivacyRoute,
    RefusedRoute,
    SearchRoute,
    ShowAnywayRoute,
    StaticRoute,
    TopicRoute,
    ToPortalRoute,
    TrustedRoute,
)
from proxy.portal.routes import navigation, route
from proxy.portal.timeparameters import TimeView

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
        (SITE + "/.well-known/linkmend/search?q=water+cycle", SearchRoute(query="water cycle")),
        (
            PORTAL + "/search?q=lava&topic=Fire+%26+ice&lang=sw&type=pdf&page=3",
            SearchRoute(query="lava", topic="Fire & ice", language="sw", kind="pdf", page=3),
        ),
        (PORTAL + "/search?q=a&lang=x%20y&type=exe&page=-1", SearchRoute(query="a")),
        (PORTAL + "/search?q=a&page=9999", SearchRoute(query="a", page=50)),
        (PORTAL + "/topic?name=Fire", TopicRoute(topic="Fire")),
        (PORTAL + "/topic?name=Fire&sub=", TopicRoute(topic="Fire", subtopic="")),
        (PORTAL + "/topic?name=Fire&sub=Lava&page=2", TopicRoute(topic="Fire", subtopic="Lava", page=2)),
        (PORTAL + "/topic", RefusedRoute(status=400)),
        (PORTAL + "/browse?list=newest", BrowseRoute(list=BrowseList.NEWEST)),
        (PORTAL + "/browse?list=site&of=a.test:81", BrowseRoute(list=BrowseList.SITE, of="a.test:81")),
        (PORTAL + "/browse?list=site&of=a/b", RefusedRoute(status=404)),
        (PORTAL + "/browse?list=language&of=en", BrowseRoute(list=BrowseList.LANGUAGE, of="en")),
        (PORTAL + "/browse?list=language", RefusedRoute(status=404)),
        (PORTAL + "/browse?list=everything", RefusedRoute(status=404)),
        (SITE + "/.well-known/linkmend/search", SearchRoute(query="")),
        (
            SITE + "/.well-known/linkmend/copy?url=http%3A%2F%2Fa.test%2F%3Fb%26c",
            CopyRoute(url="http://a.test/?b&c"),
        ),
        (SITE + "/.well-known/linkmend/static/page.css", StaticRoute(name="page.css")),
        (PORTAL + "/", PortalRoute()),
        (PORTAL, PortalRoute()),
        ("https://LINKMEND.internal./", PortalRoute()),
        (PORTAL + "/search?q=a", SearchRoute(query="a")),
        (PORTAL + "/copy?url=http://a.test/", CopyRoute(url="http://a.test/")),
        (PORTAL + "/.well-known/linkmend/search?q=a", SearchRoute(query="a")),
        (PORTAL + "/ca.pem", CertificateRoute(form=CertificateForm.PEM)),
        (PORTAL + "/ca.cer", CertificateRoute(form=CertificateForm.DER)),
        (PORTAL + "/ca.mobileconfig", CertificateRoute(form=CertificateForm.PROFILE)),
        (SITE + "/.well-known/linkmend/ca.crt", CertificateRoute(form=CertificateForm.PEM_CRT)),
        (PORTAL + "/privacy", PrivacyRoute()),
        (SITE + "/.well-known/linkmend/privacy", PrivacyRoute()),
        ("https://linkmend.internal/trusted", TrustedRoute(picture=False)),
        ("https://linkmend.internal/trusted.svg", TrustedRoute(picture=True)),
        (PORTAL + "/nowhere", RefusedRoute(status=404)),
        (SITE + "/.well-known/linkmend/", PortalRoute()),
        (SITE + "/.well-known/linkmend/nowhere", RefusedRoute(status=404)),
        (SITE + "/.well-known/linkmend/static/../../settings.py", RefusedRoute(status=404)),
        (SITE + "/.well-known/linkmend/static/%2e%2e/x", RefusedRoute(status=404)),
        (SITE + "/.well-known/linkmend/copy", RefusedRoute(status=400)),
        (SITE + "/.well-known/linkmend/copy?url=" + "a" * 5_000, RefusedRoute(status=400)),
        (
            SITE + "/.well-known/linkmend/search?" + "&".join("q=1" for _ in range(99)),
            RefusedRoute(status=400),
        ),
    ],
)
def test_our_own_addresses_are_known(url, call):
    assert got(url) == call


@pytest.mark.parametrize(("page", "path"), [("", "/"), ("privacy", "/.well-known/linkmend/privacy")])
def test_pages_about_the_school_are_not_shown_on_plain_http_sites(page, path):
    url = f"http://school.test/.well-known/linkmend/{page}"
    assert got(url, headers=()) == ToPortalRoute(url=PORTAL + path)
    assert got(url, headers=(), portal_reachable=False) == got(PORTAL + path)


@pytest.mark.parametrize("name", ["trusted", "trusted.svg"])
def test_trust_test_is_answered_only_over_https(name):
    assert got(f"{PORTAL}/{name}") == ToPortalRoute(
        url="https://linkmend.internal/.well-known/linkmend/trusted"
    )


@pytest.mark.parametrize("path", ["/proxy.pac", "/wpad.dat"])
def test_pac_file_is_at_the_portal_our_own_address_and_wpad(path):
    for url in (
        PORTAL,
        "http://10.0.0.5:8080",
        "http://wpad",
        "http://wpad.school.lan",
        "http://proxy.lan:3128",
    ):
        assert got(url + path, own="10.0.0.5:8080", public="proxy.lan:3128") == PacRoute(), url
    assert got(f"http://10.0.0.5:8080{path}", own="10.0.0.5:8080", method="POST") == RefusedRoute(status=405)


@pytest.mark.parametrize(
    "url",
    [
        "http://school.test/proxy.pac",
        "http://10.0.0.5/proxy.pac",
        "http://notwpad.test/wpad.dat",
        "http:///wpad.dat",
    ],
)
def test_pac_file_of_another_host_is_not_ours(url):
    assert got(url, own="10.0.0.5:8080") is None
    assert got(url) is None


def test_a_site_called_wpad_does_not_learn_the_address_of_the_proxy():
    assert got("http://wpad.evil.example.com/wpad.dat") is None
    assert got("http://wpad.lan.example.com/wpad.dat") is None


def test_no_pac_file_in_transparent_and_reverse_mode():
    assert got("http://wpad/wpad.dat", portal_reachable=False) is None


def test_a_query_is_cut_to_what_a_person_would_type():
    assert got(PORTAL + "/search?q=" + "a" * 5_000) == SearchRoute(query="a" * 200)


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
    assert got(f"{host}/.well-known/linkmend/{page}", headers) == RefusedRoute(status=403)


def test_on_plain_http_the_user_is_redirected_to_the_portal():
    url = "http://school.test/.well-known/linkmend/search?q=a%26b"
    assert got(url, ()) == ToPortalRoute(url="http://linkmend.internal/.well-known/linkmend/search?q=a%26b")
    copy = "http://school.test/.well-known/linkmend/copy?url=http%3A%2F%2Fa.test%2F"
    assert got(copy, ()) == ToPortalRoute(
        url="http://linkmend.internal/.well-known/linkmend/copy?url=http%3A%2F%2Fa.test%2F"
    )


@pytest.mark.parametrize("preload", ["true", "x", ""])
def test_navigation_a_service_worker_may_read_is_redirected_to_the_portal(preload):
    """Every https site may have a service worker, and a preloaded navigation proves one."""
    path = "/.well-known/linkmend/search?q=a"
    handed_on = (*A_CLICK, ("Service-Worker-Navigation-Preload", preload))
    assert got("https://school.test" + path) == ToPortalRoute(url="https://linkmend.internal" + path)
    assert got(SITE + path, handed_on) == ToPortalRoute(url=PORTAL + path)
    assert got("https://linkmend.internal" + path) == SearchRoute(query="a")
    assert got("https://school.test" + path, portal_reachable=False) == SearchRoute(query="a")
    assert got("https://school.test" + path, handed_on, portal_reachable=False) == RefusedRoute(status=403)


def test_the_portal_itself_answers_without_fetch_metadata():
    assert got(PORTAL + "/search?q=a", ()) == SearchRoute(query="a")


def test_where_the_portal_cannot_be_reached_the_answer_is_given_in_place():
    url = "http://school.test/.well-known/linkmend/search?q=a"
    assert got(url, (), portal_reachable=False) == SearchRoute(query="a")


def test_choice_is_accepted_by_post_from_any_request():
    url = SITE + f"/.well-known/linkmend/chose?miss={MISS_ID}&n=2"
    beacon = (("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "empty"))
    assert got(url, beacon, "POST") == ChoiceRoute(miss_id=MISS_ID, number=2)
    assert got(url, beacon, "GET") == RefusedRoute(status=405)


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
    assert got(SITE + "/.well-known/linkmend/chose?" + query, method="POST") == RefusedRoute(status=400)


def test_suppressed_page_is_shown_only_to_a_persons_navigation():
    url = SITE + anyway_path(MISS_ID)
    assert got(url, (("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"))) == ShowAnywayRoute(
        miss_id=MISS_ID
    )
    assert got(url, ()) == ShowAnywayRoute(miss_id=MISS_ID)
    assert got(url, (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"))) == RefusedRoute(status=403)
    assert got(url, method="POST") == RefusedRoute(status=405)
    assert got(SITE + "/.well-known/linkmend/anyway?miss=http://evil.test/") == RefusedRoute(status=400)


def test_pages_accept_only_get_and_head():
    assert got(PORTAL + "/search?q=a", method="POST") == RefusedRoute(status=405)
    assert got(PORTAL + "/", method="HEAD") == PortalRoute()


def test_missing_fetch_metadata_is_unknown():
    assert navigation((("Accept", "text/html"),)) is None


@given(st.text(max_size=150))
def test_paths_lead_back_to_what_they_were_made_from(text):
    sound = text.encode("utf-8", "replace").decode()
    assert got(PORTAL + search_path(sound)) == SearchRoute(query=sound)
    if sound:
        assert got(PORTAL + copy_path(sound)) == CopyRoute(url=sound)


def test_a_choice_leads_back_to_its_miss():
    assert got(SITE + chose_path(MISS_ID, 3), method="POST") == ChoiceRoute(miss_id=MISS_ID, number=3)


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
    asked = ArchivedRoute(target=target, base=PORTAL)
    assert got(PORTAL + target, ()) == got(PORTAL + target) == asked
    extension = (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Site", "none"))
    assert got(PORTAL + target, extension) == asked
    assert got(PORTAL + target, (("Origin", "moz-extension://1234"),)) == asked
    assert got(PORTAL + target, method="HEAD") == asked
    assert got(PORTAL + target, method="POST") == RefusedRoute(status=405)


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
def test_site_page_cannot_query_saved_versions(target, headers):
    assert got(PORTAL + target, headers) == RefusedRoute(status=403)


@pytest.mark.parametrize("target", AS_AN_ARCHIVE)
def test_programs_that_know_no_proxy_read_the_archive_at_our_own_address_only(target):
    own = "10.0.0.5:8080"
    assert got(f"http://{own}{target}", (), own=own) == ArchivedRoute(target=target, base=f"http://{own}")
    assert got(f"http://{own}/search?q=a", (), own=own) is None
    assert got(f"http://rebound.test:8080{target}", (), own=own) is None
    assert got(f"http://{own}{target}", ()) is None
    assert got(f"http://{own}/.well-known/linkmend{target}", own=own) == RefusedRoute(status=404)


MEMENTOS = f"https://site.test/.well-known/linkmend/mementos?miss={'m' * 22}"


def test_archived_versions_need_the_miss_id():
    call = route("GET", f"{MEMENTOS}&year=2013&archive=a".replace("https:", "http:"), A_CLICK)
    assert call == MementosRoute(miss_id="m" * 22, view=TimeView(year=2013, archive="a"))
    assert route("GET", "https://site.test/.well-known/linkmend/mementos?miss=short", ()) == RefusedRoute(
        status=400
    )
    assert route("POST", MEMENTOS, ()) == RefusedRoute(status=405)
    assert route("GET", f"{MEMENTOS}&part=1&seen=x", ()) == RefusedRoute(status=400)


@pytest.mark.parametrize(
    "headers",
    [(), (("Origin", "https://site.test"),), (("Origin", "null"), ("Origin", "https://site.test"))],
)
def test_fragment_is_only_for_a_script_in_the_sandbox(headers):
    assert route("GET", f"{MEMENTOS}&part=1", headers) == RefusedRoute(status=403)
    asked = route("GET", f"{MEMENTOS}&part=1&seen=3", (("Origin", "null"), ("Sec-Fetch-Mode", "cors")))
    assert (asked.part, asked.seen) == (True, 3)


def test_on_plain_http_the_page_of_archived_versions_is_at_the_portal():
    plain = MEMENTOS.replace("https:", "http:") + "&year=2013"
    assert route("GET", plain, ()) == ToPortalRoute(url=plain.replace("site.test", "linkmend.internal"))
    assert isinstance(route("GET", plain.replace("site.test", "linkmend.internal"), ()), MementosRoute)


def test_a_script_cannot_fetch_the_page_of_archived_versions():
    assert route("GET", MEMENTOS, (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"))) == RefusedRoute(
        status=403
    )


LATE = f"https://site.test/.well-known/linkmend/late?miss={'m' * 22}"


def test_what_came_late_for_a_page_is_asked_for_by_its_script_or_by_a_person():
    assert route("GET", f"{LATE}&part=1", (("Origin", "null"),)) == LateOffersRoute(
        miss_id="m" * 22, part=True
    )
    for origin in ((), (("Origin", "https://site.test"),)):
        assert route("GET", f"{LATE}&part=1", origin) == RefusedRoute(status=403)
    plain = LATE.replace("https:", "http:")
    assert route("GET", plain, A_CLICK) == LateOffersRoute(miss_id="m" * 22)
    assert route("GET", plain, ()) == ToPortalRoute(url=plain.replace("site.test", "linkmend.internal"))
    assert route("GET", LATE.replace("m" * 22, "short"), A_CLICK) == RefusedRoute(status=400)
    assert route("POST", LATE, ()) == RefusedRoute(status=405)
