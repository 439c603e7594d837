from repair.packs.zimlinks import with_addresses, with_paths

URL = "https://a.test/lessons/soil"
PATHS = {
    URL: "a.test/lessons/soil",
    "https://a.test/": "a.test/",
    "https://a.test/pic.png": "a.test/pic.png",
    "http://b.test/x?page=2": "b.test/x?page=2",
}
PAGE = """<base href="/lessons/"><meta charset="latin1"><img src="../pic.png" srcset="big.png 2x">
<a href="/">home</a><a href="http://b.test/x?page=2#top">b</a><a href="next">not packed</a><a href="#here">here</a>"""


def test_links_lead_to_packed_pages_and_the_others_to_the_web():
    html = with_paths(PAGE, URL, PATHS)
    for expected in (
        'src="../pic.png"',
        'href="../">home',
        'href="../../b.test/x%3Fpage=2#top"',
        'href="https://a.test/lessons/next"',
    ):
        assert expected in html
    assert not any(gone in html for gone in ("<base", "charset", "srcset"))


def test_imported_page_has_its_addresses_again():
    html = with_paths(PAGE, URL, PATHS)
    back = with_addresses(html, PATHS[URL], {path: url for url, path in PATHS.items()})
    for url in ("https://a.test/pic.png", "http://b.test/x?page=2#top", '"https://a.test/"', "lessons/next"):
        assert url in back


def test_paths_that_lead_out_of_the_pack_stay_as_they_are():
    html = (
        '<html><head></head><body><a href="../../../../etc/passwd">x</a><a href="data:1">y</a></body></html>'
    )
    assert with_addresses(html, "a.test/x", {"a.test/x": "http://a.test/x"}) == html
