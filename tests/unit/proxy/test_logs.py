"""proxy.logs: one event a line, whatever it holds."""

import json
import logging
import sys

import pytest

from proxy.logs import JsonLines, TextLines, set_up
from proxy.settings import LogSettings


def record(message: str, exc_info=None) -> logging.LogRecord:
    return logging.LogRecord("proxy.test", logging.WARNING, "", 0, message, None, exc_info)


def test_an_event_is_one_line_of_text_that_says_when_how_bad_and_who():
    line = TextLines().format(record("the line is down"))
    assert line.endswith("Z warning proxy.test: the line is down")


@pytest.mark.parametrize("hostile", ["a\nb", "a\r\nfake line", "\x1b[2J", "a\u2028b", "a\x00b"])
@pytest.mark.parametrize("form", [TextLines(), JsonLines()])
def test_nothing_from_outside_can_write_a_line_of_its_own(form, hostile):
    line = form.format(record(hostile))
    assert len(line.splitlines()) == 1 or isinstance(form, JsonLines)
    assert "\n" not in line
    assert "\x1b" not in line


def test_json_lines_carry_the_trace_of_an_exception():
    try:
        raise ValueError("why")
    except ValueError:
        line = JsonLines().format(record("failed", sys.exc_info()))
    event = json.loads(line)
    assert event["event"] == "failed"
    assert "ValueError: why" in event["trace"]


def test_an_exception_that_speaks_a_strangers_words_cannot_pass_for_an_event():
    try:
        raise ValueError("why\n2026-01-01T00:00:00Z info proxy: all is well\x1b[2J")
    except ValueError:
        lines = TextLines().format(record("failed", sys.exc_info())).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("    ") for line in lines[1:])
    assert not any("\x1b" in line for line in lines)


def test_refused_handshakes_are_kept_out_of_the_log(capsys):
    before = logging.getLogger().handlers
    log = logging.getLogger("mitmproxy.proxy.server")
    try:
        set_up(LogSettings())
        log.warning(
            "Client TLS handshake failed. The client does not trust the proxy's certificate for a.test"
        )
        log.warning("Server TLS handshake failed.")
        told = capsys.readouterr().err
    finally:
        logging.getLogger().handlers = before
        log.filters.clear()
    assert "Client TLS" not in told
    assert "Server TLS handshake failed" in told
