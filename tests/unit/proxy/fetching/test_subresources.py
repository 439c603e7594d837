from proxy.fetching.subresources import parts_of
from tests.make import a_page

PAGE = b"""<html><head><base href="/deep/"><link rel="stylesheet" href="a.css"><link rel="canonical" href="/x">
<link rel="shortcut icon" href="/i.ico"><script src="b.js"></script></head>
<body><img src="c.png"><img src="c.png"><img src="data:image/png;base64,xx"><img src=""><img><a href="/no">n</a>"""


def parts(body=PAGE, **more):
    options = {"limit": 10, "max_bytes": 100_000, **more}
    return parts_of(a_page("http://school.test/page", body=body), **options)


def test_pictures_styles_scripts_and_icons_are_subresources():
    assert parts() == (
        "http://school.test/deep/a.css",
        "http://school.test/i.ico",
        "http://school.test/deep/b.js",
        "http://school.test/deep/c.png",
    )


def test_no_more_than_the_limit():
    assert len(parts(limit=2)) == 2
    assert parts(limit=0) == ()


def test_non_html_has_no_subresources():
    picture = a_page(content_type="image/png", body=PAGE)
    assert parts_of(picture, limit=10, max_bytes=100_000) == ()


def test_page_too_large_when_unpacked_has_no_subresources():
    assert parts(max_bytes=10) == ()
