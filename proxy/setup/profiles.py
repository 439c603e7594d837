"""Settings for a kind of machine, chosen with `linkmend setup --profile`."""

from collections.abc import Mapping
from typing import Any

SD_CARD: Mapping[str, Any] = {
    "collection.commit_every_s": 60.0,
    "log.level": "warning",
}
"""A Raspberry Pi or the like: the fewer writes, the longer the card lasts."""

PROFILES: Mapping[str, Mapping[str, Any]] = {"sd-card": SD_CARD}
