"""proxy.reach.passthrough: which sites are passed through unseen."""

import pytest

from proxy.errors import SettingsError
from proxy.reach.passthrough import passthrough_domains
from proxy.rules.domains import DomainList
from proxy.settings import ProxySettings


def the_list(*names):
    return DomainList(passthrough_domains(ProxySettings(pass_through=names)))


@pytest.mark.parametrize(
    "host",
    [
        "accounts.google.com",
        "login.microsoftonline.com",
        "www.paypal.com",
        "secure.chase.com",
        "www.childline.org.uk",
        "swcdn.apple.com",
        "gs-loc.apple.com",
        "fe3.delivery.mp.microsoft.com",
    ],
)
def test_sign_in_money_health_and_updates_are_passed_through_as_shipped(host):
    assert the_list("shipped").entry_for(host)


@pytest.mark.parametrize("host", ["www.google.com", "en.wikipedia.org", "linkmend.internal", "microsoft.com"])
def test_what_pupils_read_is_not(host):
    assert not the_list("shipped").entry_for(host)


def test_the_school_adds_its_own_list_and_may_leave_out_ours(tmp_path):
    own = tmp_path / "unseen.txt"
    own.write_text("# our bank\n.bank.test  # all of it\n", encoding="utf-8")
    assert the_list("shipped", str(own)).entry_for("www.bank.test") == ".bank.test"
    assert the_list(str(own)).entries == {".bank.test"}
    assert the_list().entries == frozenset()


def test_a_list_that_cannot_be_read_is_named_with_its_line(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("ok.test\nhttps://not.a/domain\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"pass_through: .*bad\.txt:2: "):
        the_list(str(bad))
    with pytest.raises(SettingsError, match=r"pass_through: .*none\.txt: No such file"):
        the_list(str(tmp_path / "none.txt"))
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        the_list(str(bad))
