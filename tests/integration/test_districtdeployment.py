"""What deploy/district/ ships, in use: Squids that share their pages by CARP, HAProxy before two linkmend."""

import re

import pytest

from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import ROOT, Running, free_port
from tests.integration.squid import _open_to

_DISTRICT = ROOT / "deploy" / "district"


def here(name, folder, changes):
    """A shipped Squid configuration with the places and addresses of this test."""
    text = (_DISTRICT / name).read_text(encoding="utf-8")
    common = {
        "/var/spool/squid": str(folder),
        "/var/log/squid/cache.log": f"{folder}/cache.log",
        "/run/squid.pid": f"{folder}/squid.pid",
        "access_log none": f"logformat url %ru\naccess_log stdio:{folder}/access.log logformat=url",
        "dst 127.0.0.0/8": "dst 127.0.0.9/32",
        "src 10.0.0.0/8": "src 127.0.0.0/8 10.0.0.0/8",
    }
    for there, ours in {**common, **changes}.items():
        assert there in text, there
        text = text.replace(there, ours)
    return re.sub(r"cache_dir .*", "", text)


class ShippedSquid(Running):
    """A real Squid with a configuration from deploy/district/."""

    def __init__(self, program, folder, name, changes, *, trusted):
        folder.mkdir()
        self.port, self.log = free_port(), folder / "access.log"
        ports = {"http_port 3128": f"http_port 127.0.0.1:{self.port}"}
        configuration = folder / "squid.conf"
        # On one machine all have its name, and would take the others' marks for a loop.
        more = f"tls_outgoing_options cafile={trusted}\nvisible_hostname {folder.name}.test\n"
        configuration.write_text(here(name, folder, changes | ports) + more, encoding="utf-8")
        _open_to("proxy", folder)
        super().__init__([program, "-N", "-n", f"district{self.port}", "-f", configuration])
        self.wait_for_port(self.port)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def asked(self):
        """The URLs that were asked of it."""
        return self.log.read_text(encoding="utf-8").split() if self.log.exists() else []


@pytest.fixture
def squids(tmp_path, program, secure_origin):
    """Three Squids, and the one before them, which comes last."""
    path, running = program("squid"), []

    def start(folder, name, changes):
        running.append(ShippedSquid(path, tmp_path / folder, name, changes, trusted=secure_origin.pem))

    try:
        for number in (1, 2, 3):
            start(f"squid{number}", "squid-cache.conf", {})
        # Peers are told apart by their names; on one machine all have the address of this one.
        peers = {
            f"cache_peer squid{number} parent 3128": f"cache_peer 127.0.0.1 parent {squid.port}"
            for number, squid in enumerate(running, 1)
        }
        start("front", "squid-front.conf", peers)
        yield running
    finally:
        for squid in running:
            squid.stop()


def test_three_squids_share_what_two_schools_ask_and_one_may_die(
    squids, start_linkmend, origin, secure_origin, tmp_path
):
    *caches, front = squids
    urls = []
    for number in range(30):
        for site in (origin, secure_origin):
            site.pages[f"/{number}"] = reply(b"<p>words", Cache_Control="max-age=600")
            urls.append(f"{site.url}/{number}")
    settings = f'[proxy]\ntrusted_ca = "{secure_origin.pem}"\n'
    for school in ("one", "other"):
        running = start_linkmend("--parent", front.url, data=tmp_path / school, settings=settings)
        pupil = Client(running.url, running.ca)
        assert [pupil.get(url).status for url in urls] == [200] * 60
    # The second school was served by the Squids, and each of them has what the others have not.
    assert all(site.asked[f"/{number}"] == 1 for site in (origin, secure_origin) for number in range(30))
    shares = [{*squid.asked()} & {*urls} for squid in caches]
    assert sorted(url for share in shares for url in share) == sorted(urls)
    assert all(len(share) >= 8 for share in shares), shares

    caches[0].kill()
    for url in shares[0]:
        assert pupil.get(f"{url}?again").status == 404  # the origin's answer, by another Squid
