"""Packs and their items, for tests."""

from datetime import UTC, datetime

from repair.crawling.topics import Topic
from repair.model import Link
from repair.packs.packmodel import PackItem, PackOrigin

AT = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
ORIGIN = PackOrigin(title="Soil", sender="Hill School", licence="CC BY 4.0", created_at=AT)
TOPIC = Topic(name="Soil", words=("earth",), subtopics=("Clay",))
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(60)


def an_item(url="https://a.test/soil", body=b"<title>Soil</title><p>clay", **known):
    given = {
        "content_type": "text/html; charset=utf-8",
        "fetched_at": AT,
        "title": "Soil",
        "language": "en",
        "is_page": True,
    }
    return PackItem(url=url, body=body, **{**given, **known})


def three_items():
    """Two pages that link to each other and to the outside, and a picture."""
    link = Link(target_url="https://b.test/clay?page=2", anchor="clay", before="see", after="here")
    first = an_item(
        body=b'<title>Soil</title><img src="/pic.png"><a href="//b.test/clay?page=2#top">clay</a>'
        b'<a href="http://far.test/x">far</a> soil of fields',
        links=(link,),
        topics=(("Soil", 0.75),),
    )
    second = an_item("https://b.test/clay?page=2", b'<title>Clay</title><a href="https://a.test/soil">up</a>')
    picture = an_item(
        "https://a.test/pic.png", PICTURE, content_type="image/png", is_page=False, title="", language=""
    )
    return (first, second, picture)
