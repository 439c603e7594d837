"""Applies the admin's rules to fetched pages: rules for everybody apply to the queue too."""

from collections.abc import Callable
from datetime import datetime

from proxy.fetching.entries import FetchRefused, PageRefused
from proxy.rules.model import RuleAction, RuleQuery, RuleVerdict
from proxy.rules.ruleset import RuleSet
from repair.model import Page
from repair.text import urls

_OURSELVES = "127.0.0.1"
"""The client address for the rules: rules for the clients of a network do not apply to the queue."""


class FetchRuleCheck:
    """Checks the rules in force."""

    def __init__(self, ruleset: Callable[[], RuleSet] = RuleSet) -> None:
        self._ruleset = ruleset

    def check(self, url: str) -> None:
        """Raises FetchRefused for a page that a rule blocks, forbids to fetch or keeps out of the cache."""
        verdict = self._ruleset().on_request(_rule_query(url))
        if verdict.action is RuleAction.BLOCK or verdict.offline_only or not verdict.cache:
            raise FetchRefused(f"blocked by the rule {verdict.rule!r} ({verdict.action})")

    def may_list(self, page: Page) -> bool:
        """Whether a page may be read into the collection; raises PageRefused when it may not even be saved."""
        content_type = page.header("content-type") or ""
        verdict: RuleVerdict = self._ruleset().on_response(
            _rule_query(page.url), miss=None, content_type=content_type
        )
        if not verdict.cache:
            raise PageRefused(f"blocked by the rule {verdict.rule!r} ({verdict.action})")
        return verdict.index


def _rule_query(url: str) -> RuleQuery:
    host = urls.parse(url).host.removeprefix("[").removesuffix("]")
    return RuleQuery(url=url, host=host, client=_OURSELVES, at=datetime.now().astimezone())
