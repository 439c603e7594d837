"""Which requests are a person opening a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.headers.navigation import (
    asks_for_repair,
    expects_network_error,
    is_navigation,
    may_be_script,
    shows_service_worker,
    submits_form,
    wants_json,
)

FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
HTML = (("Accept", FIREFOX),)


def sent(**headers):
    return tuple((name.replace("_", "-"), value) for name, value in headers.items())


@pytest.mark.parametrize("destination", ["document", "iframe", "frame"])
def test_a_browser_says_that_it_opens_a_page(destination):
    assert is_navigation("GET", sent(Sec_Fetch_Dest=destination, Sec_Fetch_Mode="navigate", Accept=FIREFOX))


@pytest.mark.parametrize(
    "destination", ["empty", "image", "script", "style", "font", "video", "embed", "object", "worker"]
)
def test_a_browser_says_that_it_does_not(destination):
    assert not is_navigation("GET", sent(Sec_Fetch_Dest=destination, Accept=FIREFOX))


def test_a_script_that_fetches_a_document_is_not_a_person():
    assert not is_navigation("GET", sent(Sec_Fetch_Dest="document", Sec_Fetch_Mode="cors", Accept=FIREFOX))


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (FIREFOX, True),
        ("text/html", True),
        ("TEXT/HTML;q=0.9, */*;q=0.8", True),
        ("application/xhtml+xml", True),
        ("text/html;q=0.5, image/png", False),
        ("text/html;q=0", False),
        ("text/html;q=nonsense", False),
        ("*/*", False),
        ("text/*", False),
        ("image/avif,image/webp,*/*", False),
        ("application/json", False),
        ("", False),
    ],
)
def test_without_that_an_accept_that_prefers_html_decides(accept, expected):
    assert is_navigation("GET", sent(Accept=accept)) is expected


def test_a_request_without_accept_is_not_a_navigation():
    assert not is_navigation("GET", ())


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", ""])
def test_only_get_and_head_open_pages(method):
    assert is_navigation("HEAD", HTML)
    assert not is_navigation(method, HTML)


@pytest.mark.parametrize(
    "header",
    [
        ("X-Requested-With", "XMLHttpRequest"),
        ("Range", "bytes=0-"),
        ("Sec-Purpose", "prefetch;prerender"),
        ("Purpose", "prefetch"),
        ("X-Moz", "prefetch"),
        ("Upgrade", "websocket"),
    ],
)
def test_scripts_downloads_and_prefetches_are_not_navigations(header):
    assert not is_navigation("GET", (*HTML, header))


def test_a_web_view_that_marks_every_request_still_opens_pages():
    headers = sent(Sec_Fetch_Dest="document", Sec_Fetch_Mode="navigate", X_Requested_With="org.school.app")
    assert is_navigation("GET", headers)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/json", True),
        ("application/json, text/html;q=0.9", True),
        ("text/html, application/json", False),
        (FIREFOX, False),
        ("*/*", False),
    ],
)
def test_json_is_wanted_when_it_is_preferred_to_html(accept, expected):
    assert wants_json(sent(Accept=accept)) is expected


def test_a_program_may_ask_for_a_repair_as_json():
    assert asks_for_repair("GET", sent(Accept="application/json", User_Agent="curl/8"))
    assert asks_for_repair("GET", HTML)


@pytest.mark.parametrize(
    "headers",
    [
        sent(Accept="application/json", Sec_Fetch_Dest="empty", Sec_Fetch_Mode="cors"),
        sent(Accept="application/json", X_Requested_With="XMLHttpRequest"),
        sent(Accept="application/json", Origin="http://school.test"),
        sent(Accept="application/json, text/plain, */*", User_Agent="Mozilla/5.0 (old)"),
        sent(Accept="application/vnd.npm.install-v1+json, application/json;q=0.8"),
        sent(Accept="*/*"),
        sent(Accept="application/json", Range="bytes=5-"),
    ],
)
def test_a_page_s_own_scripts_and_other_programs_never_ask_for_one(headers):
    assert not asks_for_repair("GET", headers)


@given(st.text(max_size=60), st.text(max_size=20))
def test_garbage_in_headers_never_raises(accept, other):
    headers = sent(Accept=accept, Sec_Fetch_Dest=other)
    assert asks_for_repair("GET", headers) in (True, False)
    assert wants_json(sent(Accept=f"{accept};q={other}")) in (True, False)


_MARKS = (("Accept-Encoding", "gzip, deflate"), ("Accept-Language", "en"))


@pytest.mark.parametrize(
    ("headers", "may_be"),
    [
        (_MARKS, True),
        ((("accept-encoding", "gzip"), ("accept-language", "")), True),
        ((*_MARKS, ("User-Agent", "curl/8.0")), True),
        ((*_MARKS, ("Sec-Fetch-Dest", "document")), False),
        (_MARKS[:1], False),
        (_MARKS[1:], False),
        ((("Accept-Encoding", "identity"), ("Accept-Language", "en")), False),
        ((("Accept", "text/html"), ("User-Agent", "Mozilla/5.0")), False),
    ],
)
def test_fields_that_scripts_cannot_remove_show_a_possible_script(headers, may_be):
    assert may_be_script(headers) is may_be


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Service-Worker-Navigation-Preload", "true"),
        ("service-worker-navigation-preload", ""),
        ("Service-Worker", "script"),
        ("Sec-Shared-Storage-Writable", "?1"),
        ("Sec-Something-New", "1"),
    ],
)
def test_a_response_that_a_service_worker_may_read_is_not_rewritten(name, value):
    browser = (
        ("Sec-Fetch-Dest", "document"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-GPC", "1"),
        ("sec-ch-ua", "x"),
    )
    assert asks_for_repair("GET", browser)
    assert not asks_for_repair("GET", (*browser, (name, value)))


def test_fetch_metadata_without_a_destination_is_no_navigation():
    assert not is_navigation("GET", (("Sec-Fetch-Site", "same-origin"), ("Accept", "text/html")))


@pytest.mark.parametrize(
    ("headers", "tells"),
    [
        ((("Service-Worker", "script"),), True),
        ((("Sec-Fetch-Dest", "serviceworker"),), True),
        ((("Service-Worker-Navigation-Preload", ""),), True),
        ((("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "navigate")), True),
        ((("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Mode", "cors")), False),
        ((("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Mode", "navigate")), False),
        ((), False),
    ],
)
def test_a_request_that_tells_of_a_service_worker(headers, tells):
    assert shows_service_worker(headers) is tells


@pytest.mark.parametrize(
    ("headers", "expects"),
    [
        (sent(Sec_Fetch_Dest="document", Sec_Fetch_Mode="navigate"), False),
        (sent(Sec_Fetch_Dest="iframe", Sec_Fetch_Mode="navigate"), False),
        (sent(Sec_Fetch_Dest="empty", Sec_Fetch_Mode="cors"), True),
        (sent(Sec_Fetch_Dest="empty", Sec_Fetch_Mode="navigate"), True),
        (sent(Sec_Fetch_Dest="image", Sec_Fetch_Mode="no-cors"), True),
        (
            sent(Sec_Fetch_Dest="document", Sec_Fetch_Mode="navigate", Service_Worker_Navigation_Preload=""),
            True,
        ),
        # on plain http
        (sent(Accept="*/*", Accept_Language="en", Accept_Encoding="gzip, deflate"), True),
        (sent(Accept=FIREFOX, Accept_Language="en", Accept_Encoding="gzip, deflate"), False),
        # programs
        (sent(Accept="*/*"), False),
        (sent(Accept="*/*", Accept_Encoding="gzip"), False),
        ((), False),
    ],
)
def test_which_requests_expect_a_network_error(headers, expects):
    assert expects_network_error(headers) is expects


@pytest.mark.parametrize(
    ("method", "headers", "is_form"),
    [
        ("POST", {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}, True),
        ("POST", {"Accept": "text/html,*/*;q=0.8"}, True),
        ("GET", {"Accept": "text/html"}, False),
        ("POST", {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors", "Accept": "text/html"}, False),
        ("POST", {"Accept": "text/html", "X-Requested-With": "XMLHttpRequest"}, False),
        ("POST", {"Accept": "*/*"}, False),
    ],
)
def test_a_form_is_a_post_whose_answer_a_person_looks_at(method, headers, is_form):
    assert submits_form(method, tuple(headers.items())) is is_form
