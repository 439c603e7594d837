"""proxy.portal.devices: the visitor's own device comes first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.portal.devices import PLATFORMS, platforms_for


@pytest.mark.parametrize(
    ("agent", "first"),
    [
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36",
            "windows",
        ),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:131.0) Gecko/20100101 Firefox/131.0", "firefox"),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15",
            "macos",
        ),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148", "ios"),
        (
            "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 FxiOS/130.0 Mobile/15E148",
            "ios",
        ),
        (
            "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36",
            "android",
        ),
        ("Mozilla/5.0 (Android 14; Mobile; rv:131.0) Gecko/131.0 Firefox/131.0", "android"),
        (
            "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/129.0.0.0 Safari/537.36",
            "chromeos",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36", "linux"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0", "firefox"),
        ("", "windows"),
        ("curl/8.0", "windows"),
    ],
)
def test_the_device_that_the_visitor_seems_to_have_comes_first(agent, first):
    assert platforms_for(agent)[0].code == first


def test_behind_firefox_its_own_system_is_next():
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"
    assert [platform.code for platform in platforms_for(agent)[:2]] == ["firefox", "linux"]


@given(st.text())
def test_every_user_agent_gets_each_platform_once(agent):
    assert sorted(platforms_for(agent), key=lambda p: p.code) == sorted(PLATFORMS, key=lambda p: p.code)
