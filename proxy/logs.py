"""Logging set-up: one event per line, as text for people or as JSON for machines.

Text from outside (URLs, titles) may contain line breaks. They are escaped, so that no one can forge log lines.
Secrets in addresses are removed here, whichever module logs them.
"""

import logging
import re
import sys
from datetime import UTC, datetime

import msgspec

from proxy.settings import LogSettings
from repair.secrets.addresses import without_secret

# An address ends before the first character that is invalid in it; punctuation at its end belongs to the sentence.
_ADDRESS = re.compile(r"""https?://[^\s<>"'`{}|\\^]+(?<![.,:;!?)\]])""", re.IGNORECASE)
_OWN = ("proxy", "repair", "addons")


def set_up(settings: LogSettings, *, process: str = "") -> None:
    """Log to stderr: our own events from the configured level on, those of libraries from warning on.

    `process` is the name of this process in every line.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(process) if settings.format == "json" else TextLines(process))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    # We log ourselves, in one line, that a port is in use.
    logging.getLogger("mitmproxy.addons.proxyserver").setLevel(logging.CRITICAL)
    # A client that refuses our certificate does so a hundred times a day: such clients are counted instead.
    logging.getLogger("mitmproxy.proxy.server").addFilter(_is_no_refused_handshake)
    for name in _OWN:
        logging.getLogger(name).setLevel(settings.level.upper())


def _is_no_refused_handshake(record: logging.LogRecord) -> bool:
    return "Client TLS handshake failed" not in str(record.msg)


def without_secrets(text: str) -> str:
    """`text` with the secrets removed from all addresses (`repair.secrets.addresses`).

    >>> without_secrets("late: http://school.test/reset?token=abc")
    'late: http://school.test/reset'
    """
    if "://" not in text:
        return text
    return _ADDRESS.sub(lambda found: without_secret(found[0]), text)


def one_line(text: str) -> str:
    """`text` with all unprintable characters escaped.

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
        # Indented, since an exception may contain text, and line breaks, from outside.
        trace = without_secrets(self.formatException(record.exc_info)).splitlines()
        return "\n".join((line, *(f"    {one_line(each)}" for each in trace)))


class JsonLines(logging.Formatter):
    """One JSON object per line, with the trace of an exception in it."""

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
