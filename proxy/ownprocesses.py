"""Other processes of linkmend, started by a running one with the settings of the moment."""

import os
from collections.abc import Mapping

from proxy.settings import Settings, as_environment

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "TMPDIR", "LD_LIBRARY_PATH")


def environment_for(settings: Settings) -> Mapping[str, str]:
    """The environment from which a command reads these settings; nothing else of ours is in it."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | as_environment(settings)
