"""How the Python that runs linkmend is started."""

import os
import sys


def restart_without_asserts() -> None:
    """Restart under `python -O`: mitmproxy checks itself with asserts, a tenth of the time of each request.

    linkmend has none of its own. The arguments stay the same, so that the process can still be recognised.
    """
    if __debug__:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-O", *sys.orig_argv[1:]])  # noqa: S606
