"""Where the program begins: `linkmend serve` restarts without asserts before anything else is imported."""

import sys

from proxy.interpreter import restart_without_asserts


def run() -> None:
    """Run the command of the command line."""
    if sys.argv[1:2] == ["serve"] and not {"-h", "--help"} & set(sys.argv):
        restart_without_asserts()
    from proxy.main import run as run_command  # a fifth of a second, which a restart would spend twice

    run_command()


if __name__ == "__main__":
    run()
