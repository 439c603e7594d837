"""Logging set-up: one event a line, as text for people or as JSON for machines.

Whatever came from outside (URLs, titles) may hold line breaks; they are escaped, so that nobody can write
lines of their own into the log.
"""

import logging
import sys
from datetime import UTC, datetime

import msgspec

from proxy.settings import LogSettings

_OWN = ("proxy", "repair", "addons")


def set_up(settings: LogSettings) -> None:
    """Log to stderr; our own events from the chosen level, those of libraries from warning on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if settings.format == "json" else TextLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    # What it says of a port that is taken, we say ourselves, in one line.
    logging.getLogger("mitmproxy.addons.proxyserver").setLevel(logging.CRITICAL)
    for name in _OWN:
        logging.getLogger(name).setLevel(settings.level.upper())


def one_line(text: str) -> str:
    """`text` without anything that a terminal or a log reader would take for more than a character.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


class TextLines(logging.Formatter):
    """`2026-05-03T12:00:00Z warning proxy.cache: ...`"""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_moment(record)} {record.levelname.lower()} {record.name}: {one_line(record.getMessage())}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One JSON object a line, an exception's trace within it."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if record.exc_info:
            event["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(event).decode()


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
