"""Why there is no answer.

FetchError                (repair.fetch) the site was slow, hung up, or sent no HTTP: later it may answer
├── TooLarge              (repair.fetch)
├── ForbiddenTarget       the guard refuses the host, the port or the address
├── InvalidTarget         the URL cannot be requested
├── InvalidRedirect       a redirect to nowhere, elsewhere, or one too many
├── UntrustedCertificate
├── NoConnection          nobody answered at all: the internet may be down
├── RobotsDisallowed
└── RobotsUnavailable     what robots.txt says cannot be known now
"""

from repair.fetch import FetchError


class ForbiddenTarget(FetchError):
    """linkmend does not connect there."""


class InvalidTarget(FetchError):
    """Not a URL that can be requested."""


class InvalidRedirect(FetchError):
    """A redirect that is not followed."""


class UntrustedCertificate(FetchError):
    """The site's certificate is not trusted."""


class NoConnection(FetchError):
    """No connection, and no sign that the other side is to blame."""


class RobotsDisallowed(FetchError):
    """The site's robots.txt disallows the URL."""


class RobotsUnavailable(FetchError):
    """The site cannot say what its robots.txt allows; `after_s` is when to ask again."""

    def __init__(self, message: str, *, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s
