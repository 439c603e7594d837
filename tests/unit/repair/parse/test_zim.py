"""Real ZIM files, made by libzim itself: their pages get addresses without being told any."""

import pytest

from repair.parse.load import load

writer = pytest.importorskip("libzim.writer", reason="libzim is not installed")


class Entry(writer.Item):
    def __init__(self, path, title, body):
        super().__init__()
        self._path, self._title, self._body = path, title, body

    def get_path(self):
        return self._path

    def get_title(self):
        return self._title

    def get_mimetype(self):
        return "text/html"

    def get_contentprovider(self):
        return writer.StringProvider(self._body)

    def get_hints(self):
        return {writer.Hint.FRONT_ARTICLE: True}


def a_zim(path, *paths, **metadata):
    with writer.Creator(path).config_indexing(False, "eng") as creator:
        creator.set_mainpath(paths[0])
        for each in paths:
            creator.add_item(Entry(each, each, f"<title>{each}</title><p>Lava is molten rock."))
        for name, value in metadata.items():
            creator.add_metadata(name, value)
    return path


@pytest.mark.parametrize(
    ("name", "metadata", "address"),
    [
        ("x.zim", {"Name": "wikipedia_en_top"}, "https://en.wikipedia.org/wiki/Lava_(rock)"),
        (
            "x.zim",
            {"Name": "wikipedia_pt-br_all", "Source": "pt.wikipedia.org"},
            "https://pt-br.wikipedia.org/wiki/Lava_(rock)",
        ),
        (
            "x.zim",
            {"Name": "phet_en", "Source": "https://phet.test/en"},
            "https://phet.test/en/Lava_(rock)",
        ),
        ("x.zim", {"Source": "phet.test"}, "http://phet.test/Lava_(rock)"),
        ("x.zim", {"Name": "phet_en_2026"}, "http://phet-en-2026.zim.internal/Lava_(rock)"),
        ("Rocks & lava_2026-05.zim", {}, "http://rocks-lava.zim.internal/Lava_(rock)"),
        ("x.zim", {"Name": "…", "Source": "not an address"}, "http://pages.zim.internal/Lava_(rock)"),
    ],
)
def test_the_metadata_tell_the_address(tmp_path, name, metadata, address):
    (page,) = load(a_zim(tmp_path / name, "Lava_(rock)", **metadata))
    assert page.url == address
    assert b"molten" in page.body


def test_a_base_url_that_is_given_counts_more(tmp_path):
    file = a_zim(tmp_path / "x.zim", "Lava", Name="wikipedia_en_top")
    assert [page.url for page in load(file, base_url="http://a.test/")] == ["http://a.test/Lava"]


def test_a_host_in_the_path_counts_most(tmp_path):
    file = a_zim(tmp_path / "x.zim", "rocks.test/lava.html", Name="wikipedia_en_top")
    assert [page.url for page in load(file)] == ["http://rocks.test/lava.html"]
