"""How the Python that runs linkmend is started."""

import os
import sys


def restart_without_asserts() -> None:
    """Restart under `python -O`: mitmproxy checks itself with asserts, a tenth of the time of each request.

    linkmend has none of its own. The arguments stay the same, so that the process can still be recognised.
    With it goes what the C library reads at the start only: by default each thread keeps freed memory for itself, 6
    to 20 MB in all processes.
    """
    if __debug__:
        sys.stdout.flush()
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
        os.execv(sys.executable, [sys.executable, "-O", *sys.orig_argv[1:]])  # noqa: S606
