import pytest

from repair.packs.surt import surt_key


@pytest.mark.parametrize(
    ("url", "key"),
    [  # as the library surt 0.3.1 makes them
        ("http://school.test/", "test,school)/"),
        ("https://www.School.test/A/b/", "test,school)/a/b"),
        ("http://www2.school.test:8080/a?z=1&B=2", "test,school:8080)/a?b=2&z=1"),
        ("http://127.0.0.1:8000/a", "127.0.0.1:8000)/a"),
        ("http://a.b.school.test/x.html", "test,school,b,a)/x.html"),
    ],
)
def test_addresses_have_the_keys_that_archives_look_up(url, key):
    assert surt_key(url) == key
