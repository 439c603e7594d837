"""What some school wrote into the district's index, as its answers bring it here."""

import pytest

from repair.model import Link
from repair.opensearch.pagedocument import link_columns, packed
from repair.opensearch.questions import linking, loaded, scored, with_text

_TARGET = "https://www.example.org/lost"


def a_hit(url):
    columns = {
        "url": url,
        "caption": "A page",
        "language": "en",
        "digest": "00" * 16,
        "vector": packed({"body": ["water"]}),
        "links": link_columns([Link(target_url=_TARGET, anchor="lost")])["links"],
    }
    source = {"text": "water", "fetched_at": 1}
    return {"_score": 1.0, "_source": source, "fields": {name: [column] for name, column in columns.items()}}


def told_by(hit):
    return [*scored([hit], 10), *loaded([hit]), *with_text([hit]), *linking(_TARGET, [hit])]


def test_a_public_page_is_read():
    assert len(told_by(a_hit("https://www.example.net/new"))) == 4


@pytest.mark.parametrize(
    "url",
    [
        *(
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "",
            5,
            None,
            ["http://a.example/"],
        ),
        *("http://192.168.1.1/reboot", "http://127.0.0.1/", "http://[::ffff:10.0.0.1]/", "http://router/"),
        *("http://printer.local/reset", "http://linkmend.internal/teach", "http://a.example/\n<script>"),
        "HTTP://A.example:80/",  # not as a school writes it: it would stand beside the page itself
    ],
)
def test_a_page_that_no_school_may_share_is_passed_over(url):
    assert told_by(a_hit(url)) == []
