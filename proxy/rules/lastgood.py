"""A copy of the last valid rules, so that a restart after a bad edit does not disable a school's rules."""

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proxy.atomicfiles import write
from proxy.rules.folder import load
from proxy.rules.model import RulesError
from proxy.rules.ruleset import RuleSet

log = logging.getLogger(__name__)


class LastGoodRules:
    """The copy, in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, texts: Mapping[str, str]) -> None:
        """Save the texts of valid rules and lists; only log an error when that fails."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write(self._path, msgspec.json.encode(texts), mode=0o600)
        except OSError as error:
            log.warning("rules: cannot save a copy of the last valid rules: %s", error)

    def ruleset(self) -> RuleSet:
        """The rule set of the copy; an empty one when there is none."""
        try:
            texts = msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])
            ruleset = load(self._path / "none", instead=texts)
        except FileNotFoundError:
            return RuleSet()
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RulesError) as error:
            log.error("rules: cannot read the last valid rules: %s", error)
            return RuleSet()
        log.warning("rules: using the last valid ones: %d", len(ruleset.rules))
        return ruleset
