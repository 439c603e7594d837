"""What an import skipped, by file and place, so that one bad record does not cost the rest; and how far it is."""

_MAX_LINES = 1_000


class ImportProblems:
    """A list of one-line problems, `file: place: what was expected`; only the first thousand are kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.share: float | None = None
        """How much of the import has been read, from 0 to 1; None when it is not known."""
        self.damage = ""
        """The first place where a file is damaged or ends early, so that more may be missing than was counted."""

    def add(self, file: str, place: str, what: str, *, is_damage: bool = False) -> None:
        """Record that something was skipped."""
        self.count += 1
        if is_damage and not self.damage:
            self.damage = f"{file}: {place}: {what}" if place else f"{file}: {what}"
        if len(self.lines) < _MAX_LINES:
            self.lines.append(f"{file}: {place}: {what}" if place else f"{file}: {what}")
