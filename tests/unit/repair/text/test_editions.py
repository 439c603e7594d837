from repair.text.editions import site_editions


class KnownUrls:
    def __init__(self, *urls):
        self.urls = urls

    def addresses(self, beginning, limit):
        return tuple(url for url in self.urls if url.startswith(beginning))[:limit]


def editions(beginning, *urls):
    known = KnownUrls(*urls)
    return dict(site_editions(known, beginning, known.addresses(beginning, 1000)))


def pages(directory, count=3):
    return [f"{directory}page{number}.html" for number in range(count)]


def test_directories_that_name_a_language_are_editions():
    site = "http://school.test/"
    found = editions(site, *pages(site), *pages(f"{site}ja/docs/"), *pages(f"{site}zh-cn/docs/"))
    assert found == {f"{site}ja/": "ja", f"{site}zh-cn/": "zh"}


def test_one_url_alone_makes_no_edition():
    site = "http://school.test/"
    assert editions(site, *pages(site), *pages(f"{site}de/", count=1)) == {}


def test_hosts_that_name_a_language_are_editions_of_the_host_without_one():
    known = (*pages("https://www.school.test/"), *pages("https://ja.school.test/"))
    assert editions("https://www.school.test/", *known) == {"https://ja.school.test/": "ja"}
    assert editions("https://ja.school.test/", *known) == {}


def test_where_nearly_all_urls_name_a_language_there_is_no_default_edition():
    site = "http://school.test/"
    assert editions(site, *pages(site, count=1), *pages(f"{site}ja/", 10), *pages(f"{site}en/", 10)) == {}


def test_languages_in_the_names_of_files_make_editions_where_they_are_common():
    site = "http://school.test/"
    japanese = [f"{site}page{number}.ja.html" for number in range(3)]
    assert editions(site, *pages(site), *japanese) == {"ja": "ja"}
    assert editions(site, *pages(site, count=90), *japanese) == {}
