"""Sizes in bytes as readable text (pure)."""

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a whole number before the point, with two or three figures.

    >>> size(0), size(1_536), size(20_971_520)
    ('0 bytes', '1.5 KB', '21 MB')
    """
    amount, unit = float(count), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    figures = f"{amount:.1f}" if unit and amount < 9.95 else f"{amount:.0f}"
    return f"{figures} {_UNITS[unit]}"
