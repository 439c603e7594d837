"""Clicks of users on what a repair page offered them, at once or later."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from repair.bounded import BoundedDict

_MAX_REMEMBERED = 20_000
_READING_TIME = timedelta(seconds=10)  # a user who chooses again sooner opens several at once
_COMES_BACK = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferClick:
    """A click on a page that was offered for a missing `url`; `network` is the code of the client's network.

    `unfit` is the page that the user opened before and came back from; None if there is none.
    """

    url: str
    chosen: str
    network: str
    at: datetime
    unfit: str | None = None


OnChoice = Callable[[OfferClick], None]
"""Called with each click as it is written. It must neither wait nor raise.

The same choice of the same client is reported once, so that repeated clicks do not count as many users.
"""


class RecentClicks:
    """Who opened what lately, by the client's code. That changes every day: the next day it is another choice."""

    def __init__(self) -> None:
        self._known = BoundedDict[tuple[str, str, str], datetime](_MAX_REMEMBERED)

    def came_back(self, click: tuple[str, str, str], at: datetime) -> bool:
        """Whether the user read the earlier choice before choosing again, so that it was not what they wanted."""
        earlier = self._known.get(click)
        return earlier is not None and _READING_TIME <= at - earlier <= _COMES_BACK

    def add(self, click: tuple[str, str, str], at: datetime) -> bool:
        """Remember a click (client, missing URL, opened URL); whether it is a new one."""
        is_new = click not in self._known
        self._known[click] = at
        return is_new


def add_offers(database: sqlite3.Connection, miss_id: str, first: int, urls: Sequence[str]) -> bool:
    """Add to what was offered for a miss; returns whether it is known and lacked them."""
    row = database.execute("SELECT offered FROM misses WHERE id = ?", (miss_id,)).fetchone()
    offered = json.loads(row[0]) if row is not None else []
    if row is None or len(offered) >= first:
        return False
    offered += [""] * (first - 1 - len(offered))  # of addresses with a secret none are noted
    database.execute("UPDATE misses SET offered = ? WHERE id = ?", (json.dumps([*offered, *urls]), miss_id))
    return True


def write_choice(
    database: sqlite3.Connection, miss_id: str, number: int, client: str
) -> tuple[str, str, str | None] | None:
    """Write a choice; returns the missing URL, the chosen one and the earlier choice.

    None when nothing changes or the miss is another client's.
    """
    row = database.execute(
        "SELECT url, offered, chosen, client FROM misses WHERE id = ?", (miss_id,)
    ).fetchone()
    if row is None or not client or row[3] != client:
        return None
    offered = [row[0], *json.loads(row[1])]
    url = offered[number] if 0 <= number < len(offered) else None
    if not url or url == row[2]:
        return None
    database.execute("UPDATE misses SET chosen = ? WHERE id = ?", (url, miss_id))
    return str(row[0]), str(url), row[2]
