"""proxy.descriptors: how connections are shared out."""

import subprocess
import sys

import pytest

from proxy.descriptors import shares


@pytest.mark.parametrize("limit", [0, 64, 256, 1024, 65_536])
def test_the_shares_fit_into_the_limit_and_nobody_gets_none(limit):
    given = shares(limit, per_client=1000)
    assert given.clients + given.origins <= max(limit, 3)
    assert 1 <= given.one_client <= given.clients


def test_a_class_behind_one_router_has_room_where_there_are_files_enough():
    assert shares(65_536, per_client=1000).one_client == 1000


def test_without_a_number_one_client_may_have_half():
    assert shares(1400, per_client=0).one_client == 200


def test_the_limit_is_raised_to_what_the_system_allows():
    code = "import resource as r; from proxy.descriptors import raise_limit; "
    code += "r.setrlimit(r.RLIMIT_NOFILE, (64, 500)); print(*raise_limit())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "500 64\n"
