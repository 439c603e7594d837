"""What can go wrong with a teacher's wish."""

from proxy.errors import LinkmendError


class WorksheetError(LinkmendError):
    """A worksheet, page or wish cannot be taken; the message is the end of a text's key, `teach.fault.MESSAGE`."""
