"""addons.rules: what a rule answers itself, and the verdict that the other addons find."""

import pytest

from addons.flowstate import AnsweredBy, state_of
from addons.rules import Rules, RulesForStored, is_left_alone, verdict_of
from proxy.rules.live import LiveRules
from proxy.rules.model import NO_RULE
from proxy.rules.verdictcache import VerdictCache
from repair.model import MissKind
from tests.make import A_MOMENT, a_flow

BROWSER = [("Accept", "text/html")]


@pytest.fixture
def ruled(tmp_path):
    """Asks one rule about a request, and about its response if it has one."""

    def ask(text, flow):
        (tmp_path / "10.toml").write_text(text, encoding="utf-8")
        live = LiveRules(tmp_path)
        assert live.fault is None
        addon = Rules(VerdictCache(live, local=lambda: A_MOMENT), portal=lambda: True)
        addon.requestheaders(flow)
        if flow.response is None:
            addon.request(flow)
        else:
            addon.responseheaders(flow)
        return addon

    return ask


def test_without_rules_nothing_is_asked(tmp_path):
    flow = a_flow()
    Rules(VerdictCache(LiveRules(tmp_path)), portal=lambda: True).requestheaders(flow)
    assert verdict_of(flow) is NO_RULE
    assert state_of(flow).rule_query is None


def test_a_blocked_page_gives_a_person_the_reason_harmlessly(ruled):
    flow = a_flow(headers=BROWSER)
    ruled(
        '[[rule]]\ndomain = "school.test"\naction = "block"\nreason = "exam <script>alert(1)</script>"\n',
        flow,
    )
    assert flow.response.status_code == 403
    assert state_of(flow).answered_by is AnsweredBy.RULE
    assert "exam &lt;script&gt;" in flow.response.get_text()
    assert flow.response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["school.test", "SCHOOL.test:80", "school.test:8080"])
def test_a_blocked_site_is_not_had_by_asking_its_neighbour_for_it(ruled, host):
    flow = a_flow("http://neighbour.test/page", headers=[("Host", host), *BROWSER])
    ruled('[[rule]]\ndomain = "school.test"\naction = "block"\n', flow)
    assert flow.response.status_code == 403


@pytest.mark.parametrize("host", ["neighbour.test", "not a host", "[", "\x7f"])
def test_whatever_else_a_request_calls_its_host_blocks_nothing(ruled, host):
    flow = a_flow("http://neighbour.test/page", headers=[("Host", host), *BROWSER])
    ruled('[[rule]]\ndomain = "school.test"\naction = "block"\n', flow)
    assert flow.response is None


def test_a_blocked_picture_is_refused_in_a_line(ruled):
    flow = a_flow(headers=[("Accept", "image/*")])
    ruled('[[rule]]\naction = "block"\nreason = "exam"\n', flow)
    assert flow.response.status_code == 403
    assert flow.response.headers["content-type"].startswith("text/plain")
    assert "exam" in flow.response.get_text()


def test_a_redirect_leads_to_the_place_that_the_rule_names(ruled):
    flow = a_flow("http://old.test/a/b?c=d", headers=BROWSER)
    ruled('[[rule]]\ndomain = "old.test"\naction = "redirect"\nto = "https://new.test{path}"\n', flow)
    assert (flow.response.status_code, flow.response.headers["location"]) == (302, "https://new.test/a/b")


def test_a_redirect_to_the_very_same_address_is_none(ruled):
    flow = a_flow("http://old.test/a", headers=BROWSER)
    ruled('[[rule]]\naction = "redirect"\nto = "http://old.test{path}"\n', flow)
    assert flow.response is None


def test_what_is_sent_with_a_form_is_not_redirected(ruled):
    flow = a_flow("http://old.test/a", method="POST", headers=BROWSER)
    ruled('[[rule]]\naction = "redirect"\nto = "https://new.test/"\n', flow)
    assert flow.response is None


@pytest.mark.parametrize(
    "url", ["http://linkmend.internal/", "http://school.test/.well-known/linkmend/search"]
)
def test_linkmends_own_pages_stay_within_reach_whatever_the_rules_say(ruled, url):
    flow = a_flow(url, headers=BROWSER)
    ruled('[[rule]]\naction = "block"\n', flow)
    assert flow.response is None


def test_a_rule_about_the_content_type_counts_once_that_is_known(ruled):
    flow = a_flow(response=(200, [("Content-Type", "video/mp4")], b""))
    ruled('[[rule]]\ncontent_type = "video/*"\naction = "no-cache"\n', flow)
    assert not verdict_of(flow).cache


def test_a_rule_about_a_kind_of_miss_counts_only_for_that(ruled):
    flow = a_flow(response=(404, [], b""))
    addon = ruled('[[rule]]\nmiss = ["gone"]\naction = "pass"\n', flow)
    addon.on_miss(flow, MissKind.NOT_FOUND)
    assert not is_left_alone(flow)
    addon.on_miss(flow, MissKind.GONE)
    assert is_left_alone(flow)


def test_a_film_that_a_rule_keeps_out_is_answered_with_the_page_instead_of_its_body(ruled):
    flow = a_flow(headers=BROWSER, response=(200, [("Content-Type", "video/mp4")], b""))
    ruled('[[rule]]\ncontent_type = "video/*"\naction = "block"\nreason = "no films"\n', flow)
    assert flow.response.status_code == 403
    sent = b"".join(flow.response.stream(chunk) for chunk in (b"film" * 1000, b"film" * 1000, b""))
    assert b"no films" in sent
    assert b"filmfilm" not in sent
    assert len(sent) == int(flow.response.headers["content-length"])


def test_a_missing_page_may_be_redirected_by_a_rule_for_misses(ruled):
    flow = a_flow("http://old.test/a", headers=BROWSER, response=(404, [], b""))
    addon = ruled('[[rule]]\nmiss = ["not_found"]\naction = "redirect"\nto = "https://new.test/"\n', flow)
    assert addon.on_miss(flow, MissKind.GONE) is None
    assert ("Location", "https://new.test/") in addon.on_miss(flow, MissKind.NOT_FOUND).headers


def test_what_the_cache_holds_is_kept_out_by_its_content_type_too(ruled):
    flow = a_flow(headers=BROWSER, response=(200, [("Content-Type", "video/mp4")], b"film"))
    state_of(flow).answered_by = AnsweredBy.CACHE
    addon = ruled('[[rule]]\ncontent_type = "video/*"\naction = "block"\n', flow)
    assert flow.response.status_code == 200
    RulesForStored(addon).response(flow)
    assert flow.response.status_code == 403
    assert b"film" not in flow.response.content


def test_a_head_request_for_what_a_rule_keeps_out_gets_no_body(ruled):
    flow = a_flow(method="HEAD", response=(200, [("Content-Type", "video/mp4")], b""))
    ruled('[[rule]]\ncontent_type = "video/*"\naction = "block"\n', flow)
    assert flow.response.status_code == 403
    assert flow.response.stream(b"") == b""
