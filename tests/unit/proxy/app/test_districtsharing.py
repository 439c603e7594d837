import pytest

from proxy.app.districtsharing import DistrictSharing
from proxy.errors import SettingsError
from proxy.settings import DistrictSettings, Settings
from repair.collection.database import Database
from repair.soft404.sitestore import SiteStore


@pytest.fixture
def stores(tmp_path):
    (tmp_path / "collection").mkdir()
    database = Database(tmp_path / "collection" / "collection.sqlite3")
    sites = SiteStore(tmp_path / "soft404" / "sites.sqlite")
    yield database, sites
    sites.close()
    database.close()


def test_without_a_database_of_the_district_no_thread_runs_and_nothing_is_noted(tmp_path, stores):
    sharing = DistrictSharing(tmp_path, *stores, Settings())
    sharing.start()
    sharing.close()
    with stores[0].read() as connection:
        named = connection.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'district%'")
        assert named.fetchone() == (0,)


def test_a_wrong_setting_is_found_before_anything_starts(tmp_path, stores):
    settings = Settings(
        district=DistrictSettings(database="postgresql://h/x", database_password_file="/nowhere")
    )
    with pytest.raises(SettingsError, match="password_file"):
        DistrictSharing(tmp_path, *stores, settings)


def test_a_school_that_has_left_takes_no_part(tmp_path, stores):
    (tmp_path / "district-left").touch()
    settings = Settings(district=DistrictSettings(database="postgresql://127.0.0.1:1/linkmend"))
    sharing = DistrictSharing(tmp_path, *stores, settings)
    sharing.start()
    sharing.close()
