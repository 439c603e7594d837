"""repair.memento.progress: answers as they come, and the last good copy as soon as possible."""

import asyncio
from datetime import UTC, datetime

from repair.memento.model import ArchiveAnswer, ArchiveOutcome, MementoCopy
from repair.memento.progress import ArchiveProgress
from tests.archiving import LOST, NOW, a_memento
from tests.make import a_page


class SlowArchives:
    """Two archives; the second answers when the test says so. The last memento found is the best."""

    def __init__(self):
        self.go_on = asyncio.Event()

    async def events(self, url):
        yield self._answer("first", a_memento("2010"))
        await self.go_on.wait()
        yield self._answer("second", a_memento("2012"))

    async def best_of(self, found):
        return MementoCopy(memento=found.mementos[-1], page=a_page())

    def _answer(self, archive, memento):
        said_at = datetime.fromtimestamp(NOW, UTC)
        return ArchiveAnswer(
            archive=archive, outcome=ArchiveOutcome.ANSWERED, said_at=said_at, mementos=(memento,)
        )


async def test_the_best_copy_is_searched_after_the_first_answer():
    archives = SlowArchives()
    followed = ArchiveProgress(archives, LOST)
    followed.start()
    await followed.wait(lambda: followed.best is not None, wait_s=5)
    assert followed.best.memento.at.year == 2010
    assert not followed.finished
    archives.go_on.set()
    await followed.wait(lambda: False, wait_s=5)
    assert followed.finished
    assert followed.best.memento.at.year == 2012
    assert [answer.archive for answer in followed.found.answers] == ["first", "second"]


async def test_wait_ends_after_its_timeout():
    followed = ArchiveProgress(SlowArchives(), LOST)
    followed.start()
    await followed.wait(lambda: len(followed.found.answers) == 2, wait_s=0.05)
    assert len(followed.found.answers) == 1
    await followed.stop()
    assert followed.finished
