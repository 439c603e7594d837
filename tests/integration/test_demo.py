"""The demo collection repairs its own dead links, requested as JSON through the running proxy."""

import json

import pytest

from tests.integration.client import Client
from tests.integration.processes import DEMO, linkmend, serving

DEAD_LINKS = [json.loads(line) for line in (DEMO / "dead-links.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    data = tmp_path_factory.mktemp("demo") / "data"
    done = linkmend("import", DEMO, "--data", data)
    assert done.returncode == 0, done.stderr
    with serving(data, "--offline") as running:
        yield Client(running.url, running.ca)


@pytest.mark.parametrize("link", DEAD_LINKS, ids=lambda link: f"{link['url']} from {link['source_url']}")
def test_a_dead_link_of_the_demo_has_the_right_page_among_its_first_three(link, client):
    told = client.repair(link["url"], Referer=link["source_url"]).told
    assert told["source_page"] == link["source_url"]
    offered = [item["url"] for item in told["alternatives"]]
    assert link["expected_url"] in offered[:3]


def test_a_dead_link_of_the_demo_is_mended_without_knowing_where_it_was(client):
    for link in DEAD_LINKS:
        offered = [item["url"] for item in client.repair(link["url"]).told["alternatives"]]
        assert link["expected_url"] in offered[:3], link["url"]


def test_nine_of_ten_dead_links_of_the_demo_have_the_right_page_first(client):
    first = 0
    for link in DEAD_LINKS:
        told = client.repair(link["url"], Referer=link["source_url"]).told
        first += bool(told["alternatives"]) and told["alternatives"][0]["url"] == link["expected_url"]
    print(f"first: {first} of {len(DEAD_LINKS)}")  # noqa: T201
    assert first >= 0.9 * len(DEAD_LINKS)
