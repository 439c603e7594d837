"""Where the files of deploy/ are: beside the code in an installed linkmend, in deploy/ of a checkout."""

from pathlib import Path

_INSTALLED = Path(__file__).with_name("files")
_CHECKOUT = Path(__file__).parents[2] / "deploy"

SETTINGS = "linkmend.toml"
SERVICE = "linkmend.service"
DEMO = "demo"


def shipped_file(name: str) -> Path:
    """The path of a file or folder of deploy/ that wheels contain too (pyproject.toml lists them)."""
    installed = _INSTALLED / name
    return installed if installed.exists() else _CHECKOUT / name
