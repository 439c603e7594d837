"""proxy.logs: one event a line, whatever it holds."""

import json
import logging
import sys

import pytest

from proxy.logs import JsonLines, TextLines


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
