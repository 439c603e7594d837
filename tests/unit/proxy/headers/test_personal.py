import pytest

from proxy.headers.personal import is_personal, personal_fields


@pytest.mark.parametrize(
    "name",
    [
        "cookie",
        "authorization",
        "x-auth-token",
        "x-api-key",
        "apikey",
        "x-access-token",
        "x-session",
        "x-session-id",
        "x-sessiontoken",
        "x-csrf-token",
        "x-csrftoken",
        "x-xsrf-token",
        "x-amz-security-token",
        "x-authenticated-user",
    ],
)
def test_personal_fields_are_recognised_by_name(name):
    assert is_personal(name)


@pytest.mark.parametrize(
    "name",
    [
        "accept",
        "accept-encoding",
        "accept-language",
        "user-agent",
        "referer",
        "host",
        "cache-control",
        "if-none-match",
        "range",
        "sec-fetch-user",
        "sec-fetch-dest",
        "sec-ch-ua-platform",
        "x-requested-with",
        "origin",
        "priority",
        "upgrade-insecure-requests",
        "dnt",
        "connection",
    ],
)
def test_fields_of_every_browser_are_not_personal(name):
    assert not is_personal(name)


def test_the_names_are_found_in_any_case():
    headers = (("Accept", "token"), ("X-Api-Key", "1"), ("COOKIE", "a=b"))
    assert personal_fields(headers) == {"x-api-key", "cookie"}
