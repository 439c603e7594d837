"""addons.mitm.connectionset: what is remembered of connections."""

from mitmproxy.connection import Server

from addons.mitm.connectionset import ConnectionSet


def test_the_connection_of_a_copied_flow_counts_as_the_connection():
    known, server = ConnectionSet(), Server(address=("school.test", 80))
    known.add(server)
    assert server in known
    assert Server.from_state(server.get_state()) in known
    assert Server(address=("school.test", 80)) not in known


def test_nothing_is_remembered_of_connections_that_are_gone():
    known = ConnectionSet()
    for _ in range(2):
        server = Server(address=("school.test", 80))
        known.add(server)
        known.discard(server)
        known.add(server)
    assert len(known) == 1
    del server
    assert not known
