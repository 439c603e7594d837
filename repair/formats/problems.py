"""What an import could not use, told by file and place, so that one bad record does not cost the rest."""

_MAX_TOLD = 1_000


class Problems:
    """A list of one-line complaints, `file: place: what was expected`; only the first thousand are kept."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.count = 0

    def tell(self, file: str, place: str, what: str) -> None:
        """Note that something was passed over."""
        self.count += 1
        if len(self.told) < _MAX_TOLD:
            self.told.append(f"{file}: {place}: {what}" if place else f"{file}: {what}")
