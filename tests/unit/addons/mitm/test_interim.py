from mitmproxy import http, options
from mitmproxy.connection import Client, Server
from mitmproxy.proxy import events
from mitmproxy.proxy.commands import CloseConnection
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import ReceiveHttp, SendHttp
from mitmproxy.proxy.layers.http._events import RequestEndOfMessage, RequestHeaders, ResponseEndOfMessage

from addons.mitm import http1heads
from addons.mitm.originclient import OriginClient

HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
FINAL = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Origin:
    """mitmproxy's side of a connection to an origin, after a request was sent."""

    def __init__(self, version="HTTP/1.1"):
        client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0)
        context = Context(client, options.Options())
        context.server = Server(address=("school.test", 80))
        self.client, self.layer = client, OriginClient(context)
        request = http.Request.make("GET", "http://school.test/")
        request.http_version = version
        self.feed(events.Start())
        self.feed(RequestHeaders(1, request, end_stream=True))
        self.feed(RequestEndOfMessage(1))

    def feed(self, event):
        return list(self.layer.handle_event(event))

    def sends(self, data):
        """What comes of bytes from the origin: (statuses sent to the client at once, statuses taken as final)."""
        done = self.feed(events.DataReceived(self.layer.conn, data))
        at_once = [command.event.response.status_code for command in done if isinstance(command, SendHttp)]
        assert all(command.connection is self.client for command in done if isinstance(command, SendHttp))
        received = [command.event for command in done if isinstance(command, ReceiveHttp)]
        return at_once, [event.response.status_code for event in received if hasattr(event, "response")]


def test_early_hints_go_to_the_client_and_the_final_answer_is_waited_for():
    origin = Origin()
    assert origin.sends(HINTS) == ([103], [])
    assert origin.sends(FINAL) == ([], [200])


def test_several_may_come_at_once_or_in_pieces():
    assert Origin().sends(HINTS + b"HTTP/1.1 102 Processing\r\n\r\n" + FINAL) == ([103, 102], [200])
    origin = Origin()
    assert origin.sends(HINTS[:20]) == ([], [])
    assert origin.sends(HINTS[20:] + FINAL[:9]) == ([103], [])
    assert origin.sends(FINAL[9:]) == ([], [200])


def test_an_old_client_is_spared_them():
    assert Origin(version="HTTP/1.0").sends(HINTS + FINAL) == ([], [200])


def test_a_line_that_is_no_field_is_left_out_of_one():
    http1heads.install()
    assert Origin().sends(b"HTTP/1.1 103 x\r\nno colon here\r\n\r\n" + FINAL) == ([103], [200])


def test_a_change_of_protocol_is_final():
    assert Origin().sends(b"HTTP/1.1 101 Switching Protocols\r\n\r\n") == ([], [101])


def test_the_body_of_the_final_answer_is_read_as_ever():
    origin = Origin()
    done = origin.feed(events.DataReceived(origin.layer.conn, HINTS + FINAL))
    received = [command.event for command in done if isinstance(command, ReceiveHttp)]
    assert received[1].data == b"hi"
    assert isinstance(received[2], ResponseEndOfMessage)


def test_a_flood_of_them_is_no_answer():
    origin = Origin()
    assert origin.sends(HINTS * 5)[0] == [103] * 5
    done = origin.feed(events.DataReceived(origin.layer.conn, HINTS * 1000))
    assert sum(isinstance(command, SendHttp) for command in done) == 5
    assert sum(isinstance(command, CloseConnection) for command in done) == 1
    (failed,) = (command.event for command in done if isinstance(command, ReceiveHttp))
    assert failed.message == "malformed answer: more than 10 interim responses"
    assert origin.sends(HINTS * 1000) == ([], [])


def test_each_request_on_a_connection_may_have_some():
    origin = Origin()
    for stream_id in (1, 3, 5):
        if stream_id > 1:
            origin.feed(RequestHeaders(stream_id, http.Request.make("GET", "http://school.test/"), True))
            origin.feed(RequestEndOfMessage(stream_id))
        assert origin.sends(HINTS * 8 + FINAL) == ([103] * 8, [200])
