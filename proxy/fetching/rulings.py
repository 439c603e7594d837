"""What the admin's rules say of a page that nobody asked for but the queue: rules for everybody bind it too."""

from collections.abc import Callable
from datetime import datetime

from proxy.fetching.entries import Refusal
from proxy.rules.book import RuleBook
from proxy.rules.model import Action, Asked, Verdict
from repair import urls
from repair.model import Page

_OURSELVES = "127.0.0.1"
"""Whom rules are asked about: rules for the clients of some network do not bind the queue."""


class Rulings:
    """Asks the rules that hold at the moment."""

    def __init__(self, book: Callable[[], RuleBook] = RuleBook) -> None:
        self._book = book

    def check(self, url: str) -> None:
        """Raises Refusal for a page that a rule blocks, keeps off the line or out of the cache."""
        verdict = self._book().on_request(_asked(url))
        if verdict.action is Action.BLOCK or verdict.offline_only or not verdict.cache:
            raise Refusal(f"the rule {verdict.rule!r} forbids it ({verdict.action})")

    def may_list(self, page: Page) -> bool:
        """Whether a page may be read into the collection; Refusal when it may not even be kept."""
        said = page.header("content-type") or ""
        verdict: Verdict = self._book().on_response(_asked(page.url), miss=None, content_type=said)
        if not verdict.cache:
            raise Refusal(f"the rule {verdict.rule!r} forbids it ({verdict.action})")
        return verdict.index


def _asked(url: str) -> Asked:
    host = urls.parse(url).host.removeprefix("[").removesuffix("]")
    return Asked(url=url, host=host, client=_OURSELVES, at=datetime.now().astimezone())
