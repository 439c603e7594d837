"""When to look again for a page that was not there: dead pages do come back, some soon, most never."""

_DAY_S = 86_400.0
_LONGEST_DAYS = 64


def next_try_s(tries: int) -> float:
    """The seconds to wait after so many tries: one night, then two, four, up to some two months.

    >>> [next_try_s(tries) / 86_400 for tries in (1, 2, 3, 9)]
    [0.9, 1.9, 3.9, 63.9]
    """
    days: float = min(2 ** max(0, tries - 1), _LONGEST_DAYS)
    return (days - 0.1) * _DAY_S  # a night may begin a little sooner than the last one did
