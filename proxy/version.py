"""Which linkmend this is, and since when it has been here."""

from datetime import UTC, datetime
from pathlib import Path


def version() -> str:
    """The version of the installed package; "unknown" when linkmend runs from files that were never installed."""
    from importlib import metadata  # most commands never ask

    try:
        return metadata.version("linkmend")
    except metadata.PackageNotFoundError:
        return "unknown"


def installed_at() -> datetime | None:
    """When this version was installed; None when linkmend runs from files that were never installed."""
    from importlib import metadata

    try:
        record = metadata.distribution("linkmend").locate_file("")
        notes = Path(str(record)).glob("linkmend-*.dist-info/RECORD")
        return datetime.fromtimestamp(max(path.stat().st_mtime for path in notes), UTC)
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return None
