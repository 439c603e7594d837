"""Where things are on disk, for modules that need only the path."""

from pathlib import Path

DISTRICT_RULES = Path("district") / "rules.toml"
"""The rules that the district gave, in the data folder."""


def folder_beside(configured: str, settings_file: Path | None) -> str:
    """The folder that a setting names, from the settings file on; `rules.d` there, if it is there; else ""."""
    if settings_file is None:
        return configured
    folder = settings_file.parent / (configured or "rules.d")
    return str(folder.absolute()) if configured or folder.is_dir() else ""
