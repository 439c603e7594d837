import pytest

from proxy.app.districtsearch import search_client
from proxy.errors import SettingsError
from proxy.settings import DistrictSettings


@pytest.mark.parametrize("key", ["search_password_file", "ca_file"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, key):
    missing = str(tmp_path / "missing")
    with pytest.raises(SettingsError, match=r"district\.search"):
        search_client(DistrictSettings(search=("https://127.0.0.1:9200",), **{key: missing}))


def test_the_password_is_the_first_line_of_its_file(tmp_path):
    file = tmp_path / "password"
    file.write_text("s3cret-word\nsecond line\n", encoding="utf-8")
    settings = DistrictSettings(
        search=("http://127.0.0.1:1",), search_user="school", search_password_file=str(file)
    )
    assert search_client(settings)._headers["Authorization"] == "Basic c2Nob29sOnMzY3JldC13b3Jk"
