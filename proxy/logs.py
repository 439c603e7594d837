"""Logging set-up: one event a line, as text for people or as JSON for machines.

Whatever came from outside (URLs, titles) may hold line breaks; they are escaped, so that nobody can write
lines of their own into the log. Addresses that carry a secret lose it here, whoever logs them.
"""

import logging
import re
import sys
from datetime import UTC, datetime

import msgspec

from proxy.settings import LogSettings
from repair.secreturls import without_secret

# Up to what cannot stand in an address; a sign behind it belongs to the sentence.
_ADDRESS = re.compile(r"""https?://[^\s<>"'`{}|\\^]+(?<![.,:;!?)\]])""", re.IGNORECASE)
_OWN = ("proxy", "repair", "addons")


def set_up(settings: LogSettings, *, process: str = "") -> None:
    """Log to stderr; our own events from the chosen level, those of libraries from warning on.

    `process` is which of several it is, and stands in every line.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(process) if settings.format == "json" else TextLines(process))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    # What it says of a port that is taken, we say ourselves, in one line.
    logging.getLogger("mitmproxy.addons.proxyserver").setLevel(logging.CRITICAL)
    for name in _OWN:
        logging.getLogger(name).setLevel(settings.level.upper())


def without_secrets(text: str) -> str:
    """`text` with every address in it as a log may keep it (`repair.secreturls`).

    >>> without_secrets("late: http://school.test/reset?token=abc")
    'late: http://school.test/reset'
    """
    if "://" not in text:
        return text
    return _ADDRESS.sub(lambda found: without_secret(found[0]), text)


def one_line(text: str) -> str:
    """`text` without anything that a terminal or a log reader would take for more than a character.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


class TextLines(logging.Formatter):
    """`2026-05-03T12:00:00Z warning [worker 1] proxy.cache: ...`"""

    def __init__(self, process: str = "") -> None:
        super().__init__()
        self._process = f" [{process}]" if process else ""

    def format(self, record: logging.LogRecord) -> str:
        start = f"{_moment(record)} {record.levelname.lower()}{self._process} {record.name}"
        line = f"{start}: {one_line(without_secrets(record.getMessage()))}"
        if not record.exc_info:
            return line
        # Indented, since an exception may speak in the words, and lines, of whoever caused it.
        trace = without_secrets(self.formatException(record.exc_info)).splitlines()
        return "\n".join((line, *(f"    {one_line(each)}" for each in trace)))


class JsonLines(logging.Formatter):
    """One JSON object a line, an exception's trace within it."""

    def __init__(self, process: str = "") -> None:
        super().__init__()
        self._process = {"process": process} if process else {}

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            **self._process,
            "logger": record.name,
            "event": without_secrets(record.getMessage()),
        }
        if record.exc_info:
            event["trace"] = without_secrets(self.formatException(record.exc_info))
        return msgspec.json.encode(event).decode()


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
