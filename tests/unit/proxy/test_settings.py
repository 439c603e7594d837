"""proxy.settings: what a settings file may say, and how a wrong one is answered."""

from pathlib import Path

import pytest

from proxy.errors import SettingsError
from proxy.settings import (
    Settings,
    as_environment,
    default_data,
    default_path,
    load,
    parent_address,
    split_address,
)


def file(folder: Path, text: str) -> Path:
    path = folder / "linkmend.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_every_setting_has_its_default():
    assert load(environment={}) == Settings()


def test_a_file_changes_only_what_it_names(tmp_path):
    settings = load(file(tmp_path, "[cache]\nmax_bytes = 5\n"), environment={})
    assert settings.cache.max_bytes == 5
    assert settings.proxy == Settings().proxy


def test_the_environment_overrides_the_file_and_the_command_line_both(tmp_path):
    path = file(tmp_path, '[proxy]\nlisten = "127.0.0.1:1"\nparent = "http://a.test:1"\n')
    settings = load(
        path,
        environment={"LINKMEND_PROXY_LISTEN": "127.0.0.1:2", "LINKMEND_PROXY_PARENT": "http://b.test:2"},
        overrides={"proxy.listen": "127.0.0.1:3"},
    )
    assert settings.proxy.listen == "127.0.0.1:3"
    assert settings.proxy.parent == "http://b.test:2"


def test_environment_values_are_written_as_in_toml():
    settings = load(
        environment={"LINKMEND_PROXY_OFFLINE": "true", "LINKMEND_PROXY_CLIENTS": '["10.0.0.0/8"]'}
    )
    assert settings.proxy.offline is True
    assert settings.proxy.clients == ("10.0.0.0/8",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[cache]\nmax_bytes = 'lots'", "linkmend.toml: cache.max_bytes: expected int, got 'lots'"),
        ("[cache]\nmax_bytes = true", "linkmend.toml: cache.max_bytes: expected int, got True"),
        ("[cache]\nsize = 1", "linkmend.toml: cache.size: unknown key, expected one of collapse_wait_s,"),
        ("[cash]\nsize = 1", "linkmend.toml: cash: unknown section, expected one of archives,"),
        ("cache = 1", "linkmend.toml: cache: expected a section, got 1"),
        (
            "[proxy]\nclients = '10.0.0.0/8'",
            "linkmend.toml: proxy.clients: expected a list, got '10.0.0.0/8'",
        ),
        ("[proxy]\nclients = ['here']", "proxy.clients: expected networks such as 10.0.0.0/8, got 'here'"),
        ("[proxy]\nreach = ['here']", "proxy.reach: expected networks such as 10.0.0.0/8, got 'here'"),
        ("[proxy]\nports = ['http']", "proxy.ports: expected ports such as 443 or 1025-65535, got 'http'"),
        ("[proxy]\nconnect_ports = ['0']", "proxy.connect_ports: expected ports from 1 to 65535, got '0'"),
        ("[proxy]\nlisten = '8080'", "proxy.listen: expected HOST:PORT, got '8080'"),
        ("[proxy]\nparent = 'squid'", "proxy.parent: expected http://HOST:PORT, got 'squid'"),
        ("[proxy]\nparent_https = 'x'", "proxy.parent_https: expected one of absolute, connect, got 'x'"),
        (
            "[repair]\nranking = 'best'",
            "repair.ranking: expected one of plain, learned, decision, got 'best'",
        ),
        ("[log]\nlevel = 'loud'", "log.level: expected one of debug, info, warning, error, got 'loud'"),
        ("[cache]\nmax_bytes = -1", "cache.max_bytes: expected 0 or more, got -1"),
        ("[cache\n", "linkmend.toml: not valid TOML: "),
    ],
)
def test_a_wrong_file_is_refused_with_its_place_and_what_was_expected(tmp_path, text, message):
    with pytest.raises(SettingsError) as raised:
        load(file(tmp_path, text), environment={})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_missing_or_not_text_is_named(tmp_path):
    with pytest.raises(SettingsError, match="absent.toml: cannot read the file"):
        load(tmp_path / "absent.toml", environment={})
    (tmp_path / "linkmend.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="linkmend.toml: not UTF-8"):
        load(tmp_path / "linkmend.toml", environment={})


def test_addresses_are_split_with_ipv6_in_brackets():
    assert split_address("0.0.0.0:8080") == ("0.0.0.0", 8080)
    assert split_address("[::1]:80") == ("::1", 80)
    assert parent_address("http://[::1]:3128/") == ("::1", 3128)


def test_the_users_own_file_comes_before_the_systems(tmp_path):
    (tmp_path / "linkmend").mkdir()
    own = file(tmp_path / "linkmend", "")
    assert default_path({"XDG_CONFIG_HOME": str(tmp_path)}) == own


def test_data_goes_to_systemds_state_directory_when_there_is_one(tmp_path):
    assert default_data({"STATE_DIRECTORY": "/var/lib/linkmend:/x"}) == Path("/var/lib/linkmend")
    assert default_data({"XDG_DATA_HOME": str(tmp_path)}) == tmp_path / "linkmend"


def test_settings_survive_the_way_through_the_environment_of_another_process():
    settings = load(
        overrides={
            "proxy.contact": 'Ms "Achieng", room 12 \\ é\t',
            "proxy.reach": ["10.0.0.0/8"],
            "crawl.explore": 0.25,
            "grow.enabled": True,
            "crawl.search": "http://searx.example/?q={searchTerms}",
        },
        environment={},
    )
    assert load(environment=as_environment(settings)) == settings


@pytest.mark.parametrize(
    "template",
    ["http://searx.example/?q=", "ftp://a.test/{searchTerms}", "http://{searchTerms}/", "nonsense"],
)
def test_search_engine_needs_an_address_and_a_place_for_the_words(template):
    with pytest.raises(SettingsError, match="crawl.search"):
        load(overrides={"crawl.search": template}, environment={})
