"""proxy.portal.linkmarking: marks that come in time, and a page that does not wait for others."""

import asyncio
from collections import Counter

from proxy.portal.linkjudging import LinkMark
from proxy.portal.linkmarking import LinkMarker

MARKS = (LinkMark(target="http://a.test/1"), LinkMark(target="http://a.test/2", replacement="http://a.test/"))


class Known:
    def __init__(self):
        self.asked = []
        self.answer = asyncio.Event()
        self.answer.set()

    async def marks(self, source_url, offline):
        self.asked.append((source_url, offline))
        await self.answer.wait()
        return MARKS


def a_marker(known, counted, *, enabled=True):
    return LinkMarker(
        known, enabled=lambda: enabled, offline=lambda: True, count=lambda kind, n: counted.update({kind: n})
    )


async def test_marks_are_counted_by_kind():
    known, counted = Known(), Counter()
    assert await a_marker(known, counted).marks("http://a.test/") == MARKS
    assert known.asked == [("http://a.test/", True)]
    assert counted == {"link_replaced": 1, "link_nowhere": 1}


async def test_a_page_does_not_wait_for_late_marks_and_the_next_one_has_them():
    known, counted = Known(), Counter()
    known.answer.clear()
    marker = a_marker(known, counted)
    assert await marker.marks("http://a.test/") == ()
    assert counted == {"marks_late": 1}
    known.answer.set()
    assert await marker.marks("http://a.test/") == MARKS
    assert await marker.marks("http://a.test/") == MARKS
    assert len(known.asked) == 1


async def test_switched_off_nobody_is_asked():
    known = Known()
    assert await a_marker(known, Counter(), enabled=False).marks("http://a.test/") == ()
    assert known.asked == []
