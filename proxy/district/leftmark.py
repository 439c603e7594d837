"""The file that says that a school has left its district; it takes part again after `linkmend district join`."""

from pathlib import Path

_NAME = "district-left"


def has_left(data: Path) -> bool:
    """Whether the school has left its district."""
    return (data / _NAME).exists()


def mark_left(data: Path) -> None:
    """Note that it has left."""
    (data / _NAME).touch(mode=0o600)


def unmark_left(data: Path) -> None:
    """Note that it takes part."""
    (data / _NAME).unlink(missing_ok=True)
