"""proxy.rules.domains: one host, all below a domain, and lists of either form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.rules.domains import DomainList, entries_of, entry_of, normal_host

label = st.sampled_from(["a", "b", "www", "x-1", "com"])
name = st.lists(label, min_size=1, max_size=5).map(".".join)
entry = st.tuples(st.sampled_from(["", "."]), name).map("".join)


def naive(entries, host):
    return any(host == each.lstrip(".") or (each[0] == "." and host.endswith(each)) for each in entries)


@given(st.lists(entry, min_size=1, max_size=20), name)
def test_the_set_covers_what_a_look_at_every_entry_covers(entries, host):
    found = DomainList(frozenset(entries)).entry_for(host)
    assert bool(found) == naive(entries, host)
    assert not found or found in entries


def test_a_plain_name_is_one_host_and_a_dot_means_all_below():
    domains = DomainList(frozenset(("one.test", ".all.test")))
    assert domains.entry_for("one.test") == "one.test"
    assert domains.entry_for("www.one.test") == ""
    assert domains.entry_for("all.test") == domains.entry_for("deep.www.all.test") == ".all.test"
    assert domains.entry_for("notall.test") == ""


def test_the_numbers_of_an_address_are_no_domains():
    domains = DomainList(frozenset((".0.0.1", ".1", "10.0.0.1", "2001:db8::1")))
    assert domains.entry_for("127.0.0.1") == ""
    assert domains.entry_for("10.0.0.1") == "10.0.0.1"
    assert domains.entry_for(normal_host("[2001:DB8::1]")) == "2001:db8::1"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Example.ORG", "example.org"),
        ("*.example.org", ".example.org"),
        ("example.org.", "example.org"),
        (".bücher.example", ".xn--bcher-kva.example"),
        ("_dmarc.example.org", "_dmarc.example.org"),
        ("localhost", "localhost"),
        (".org", ".org"),
    ],
)
def test_names_are_brought_into_one_form(written, meant):
    assert entry_of(written) == meant


@pytest.mark.parametrize(
    "wrong", ["", ".", "http://a.test", "a.test/x", "a b", "a..b", "-a.test", "a.test:80", "*", "x" * 300]
)
def test_an_invalid_domain_is_refused(wrong):
    with pytest.raises(ValueError, match="domain|address"):
        entry_of(wrong)


def test_a_list_in_squids_form_keeps_its_dots():
    entries, faults = entries_of("# banks\n.bank.test\nshop.test # only this\n\n", "dstdomain")
    assert entries == {".bank.test", "shop.test"}
    assert faults == []


def test_a_list_in_e2guardians_form_means_everything_below():
    text = '#listcategory: "Banks"\r\nbank.test\r\n192.0.2.7\r\n'
    entries, faults = entries_of(text, "e2guardian")
    assert entries == {".bank.test", "192.0.2.7"}
    assert faults == []


def test_faults_in_a_list_have_their_lines():
    _, faults = entries_of(
        "good.test\nbad test\n.Include</etc/e2guardian/more>\n**\na.test/x\n", "e2guardian"
    )
    assert [line for line, _ in faults] == [2, 3, 4, 5]
    assert "include is not supported" in faults[1][1]
    assert "every site" in faults[2][1]


@given(st.text(max_size=300))
def test_no_text_makes_a_list_raise(text):
    entries_of(text, "dstdomain")
    entries_of(text, "e2guardian")
    normal_host(text)
