from proxy.fetching.parts import parts_of
from tests.make import a_page

PAGE = b"""<html><head><base href="/deep/"><link rel="stylesheet" href="a.css"><link rel="canonical" href="/x">
<link rel="shortcut icon" href="/i.ico"><script src="b.js"></script></head>
<body><img src="c.png"><img src="c.png"><img src="data:image/png;base64,xx"><img src=""><img><a href="/no">n</a>"""


def parts(body=PAGE, **more):
    options = {"limit": 10, "max_bytes": 100_000, **more}
    return parts_of(a_page("http://school.test/page", body=body), **options)


def test_pictures_styles_scripts_and_icons_belong_to_a_page():
    assert parts() == (
        "http://school.test/deep/a.css",
        "http://school.test/i.ico",
        "http://school.test/deep/b.js",
        "http://school.test/deep/c.png",
    )


def test_no_more_than_the_limit():
    assert len(parts(limit=2)) == 2
    assert parts(limit=0) == ()


def test_what_is_no_document_has_no_parts():
    picture = a_page(content_type="image/png", body=PAGE)
    assert parts_of(picture, limit=10, max_bytes=100_000) == ()


def test_a_page_too_large_once_unpacked_has_none():
    assert parts(max_bytes=10) == ()
