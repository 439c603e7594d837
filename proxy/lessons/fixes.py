"""Fix for everybody: a teacher's replacement of a dead link becomes a pin, at once or when a reviewer approves it."""

from datetime import UTC, datetime

from proxy.lessons.errors import WorksheetError
from proxy.lessons.model import Proposal, ProposalState
from proxy.lessons.teacherstore import TeacherStore
from repair.collection.pins import Pins, same_page_key
from repair.secrets.addresses import has_secret
from repair.text import urls


class Fixes:
    """Proposals and the pins they become. Methods block: call them in a thread."""

    def __init__(self, store: TeacherStore, pins: Pins) -> None:
        self.store = store
        self._pins = pins

    def propose(self, url: str, target: str, by: str, *, at_once: bool) -> Proposal:
        """Propose a replacement; `at_once` makes it a pin too. Raises WorksheetError."""
        if has_secret(url) or has_secret(target):
            raise WorksheetError("private")
        if not urls.is_web_url(target) or same_page_key(url) == same_page_key(target):
            raise WorksheetError("no_address")
        made = self.store.propose(urls.normal(url), urls.normal(target), by)
        if made is None:
            raise WorksheetError("too_many")
        if at_once:
            self.approve(made.id, by)
        return self.store.proposal(made.id) or made

    def approve(self, number: int, by: str) -> Proposal | None:
        """Pin what was proposed; None when it no longer waits."""
        found = self.store.proposal(number)
        if found is None or found.state is not ProposalState.WAITING:
            return None
        pinned = self._pins.of(found.url)
        decided = self.store.decide(
            number,
            ProposalState.APPROVED,
            by=by,
            before=pinned.target if pinned else "",
            only_if=ProposalState.WAITING,
        )
        if not decided:
            return None
        self._pins.pin(found.url, found.target, found.by, datetime.now(UTC))
        return found

    def refuse(self, number: int, by: str) -> Proposal | None:
        """Refuse a proposal; None when it no longer waits."""
        refused = self.store.decide(number, ProposalState.REFUSED, by=by, only_if=ProposalState.WAITING)
        return self.store.proposal(number) if refused else None

    def undo(self, number: int, by: str) -> Proposal | None:
        """Have a decided proposal wait again; what was pinned before it is pinned again. None when it waits."""
        found = self.store.proposal(number)
        if found is None or found.state is ProposalState.WAITING:
            return None
        if not self.store.decide(number, ProposalState.WAITING, by="", only_if=found.state):
            return None
        if found.state is ProposalState.APPROVED:
            self._unpin(found, by)
        return found

    def take_back(self, number: int, by: str) -> None:
        """The teacher no longer wants it: drops what waits or was refused, and a pin that no reviewer approved."""
        found = self.store.proposal(number)
        if found is None or found.by != by:
            return
        if found.state is ProposalState.APPROVED:
            if found.decided_by != by:
                raise WorksheetError("decided")
            self._unpin(found, by)
        self.store.drop_proposal(number)

    def _unpin(self, fix: Proposal, by: str) -> None:
        pinned = self._pins.of(fix.url)
        if pinned is None or pinned.target != fix.target:
            return  # somebody has pinned another page since
        if fix.before:
            self._pins.pin(fix.url, fix.before, by, datetime.now(UTC))
        else:
            self._pins.forget(fix.url)
