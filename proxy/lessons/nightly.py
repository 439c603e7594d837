"""My pages: every night the links of teachers' pages are checked, and what changed is told by mail.

A page is due once in a night; which were checked is in the store, so a restart goes on with the rest. What a teacher
was told is kept too: a mail that could not be sent is tried again, and nothing is told twice.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from html import unescape

from msgspec import Struct

from proxy.backgroundtask import BackgroundTask
from proxy.errors import LinkmendError
from proxy.lessons.model import CheckState, Lesson, LessonLink
from proxy.lessons.service import LessonService
from proxy.nighthours import NightHours
from proxy.pages.display import clean
from proxy.pages.language import Catalogue, choose
from proxy.reports.mail import send
from proxy.settings import MailSettings, Settings
from repair.errors import RepairError
from repair.secrets.addresses import without_secret

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 60.0
_HALF_A_DAY_S = 12 * 3600.0
_MAIL_AGAIN_S = 3600.0
_MAX_TOLD = 50
_DEAD = (CheckState.DEAD, CheckState.SOFT_404)
_KNOWN = (*_DEAD, CheckState.WORKS, CheckState.REDIRECTED, CheckState.LOGIN, CheckState.BLOCKED)


class PageChange(Struct, kw_only=True, frozen=True):
    """What is new about a teacher's page: links that are gone now, and addresses that work again."""

    page: Lesson
    dead: frozenset[str]
    gone: tuple[LessonLink, ...]
    back: tuple[str, ...]


def change_of(page: Lesson, links: Iterable[LessonLink], told: frozenset[str]) -> PageChange | None:
    """What has changed since the owner was told; None for nothing, or while links wait.

    A link of which nothing is known now, because the line was cut or the site was slow, stays what it was.
    """
    listed = tuple(links)
    if any(link.found.state is CheckState.WAITING for link in listed):
        return None
    unsure = {link.url for link in listed if link.found.state not in _KNOWN}
    gone = {link.url: link for link in listed if link.found.state in _DEAD}
    dead = frozenset(gone) | (told & unsure)
    there = {link.url for link in listed}
    if dead == told:
        return None
    return PageChange(
        page=page,
        dead=dead,
        gone=tuple(link for url, link in gone.items() if url not in told),
        back=tuple(sorted((told - dead) & there)),
    )


def mail_of(changes: Iterable[PageChange], texts: Catalogue, *, sender: str, to: str) -> EmailMessage:
    """The mail to a teacher, plain text, with the best replacement of each dead link."""
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = _plain(texts, "teach.mail_subject"), sender, to
    mail["Date"], mail["Message-ID"] = formatdate(localtime=True), make_msgid(domain="linkmend.internal")
    lines = list[str]()
    for change in changes:
        lines += [clean(change.page.title, 120), without_secret(change.page.page), ""]
        for link in change.gone[:_MAX_TOLD]:
            lines.append(f"{_plain(texts, 'teach.mail_gone')} {clean(link.anchor, 120)}")
            lines.append(f"  {without_secret(link.url)}")
            if link.replacements:
                best = link.replacements[0]
                lines.append(f"  {_plain(texts, 'teach.mail_instead')} {clean(best.title, 120)}")
                lines.append(f"  {best.url}")
        lines += [
            f"{_plain(texts, 'teach.mail_back')} {without_secret(url)}" for url in change.back[:_MAX_TOLD]
        ]
        lines.append("")
    mail.set_content("\n".join([*lines, "http://linkmend.internal/teach/pages", ""]))
    return mail


def _plain(texts: Catalogue, key: str) -> str:
    return unescape(str(texts(key)))


class NightlyPageChecks:
    """One task that looks at the clock. For one event loop."""

    def __init__(
        self,
        lessons: LessonService,
        settings: Callable[[], Settings],
        *,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        deliver: Callable[[EmailMessage, MailSettings], None] = send,
    ) -> None:
        self._lessons, self._settings, self._clock, self._deliver = lessons, settings, clock, deliver
        self._failed_at = dict[str, datetime]()
        self._task = BackgroundTask()

    async def start(self) -> None:
        self._task.start(self._run())

    async def close(self) -> None:
        await self._task.close()

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except (LinkmendError, RepairError, OSError) as error:
                log.warning("my pages: %s", error)
            await asyncio.sleep(_LOOK_EVERY_S)

    async def look(self) -> None:
        """Check the pages that are due, if it is night, and tell what has changed."""
        settings, now = self._settings(), self._clock()
        store, teachers = self._lessons.store, self._lessons.teachers
        await asyncio.to_thread(teachers.expire, settings.misses.retention_days)
        if not settings.teach.enabled:
            return
        if NightHours.parse(settings.fetch.night).holds(now.time()) and not settings.proxy.offline:
            for page in await asyncio.to_thread(store.watched, now.timestamp() - _HALF_A_DAY_S):
                await self._lessons.refresh(page)
        await self._tell(settings, now)

    async def _tell(self, settings: Settings, now: datetime) -> None:
        changes = dict[str, list[PageChange]]()
        for page in await asyncio.to_thread(self._lessons.store.watched):
            if (change := await asyncio.to_thread(self._change, page)) is not None:
                changes.setdefault(page.owner, []).append(change)
        for owner, of_owner in changes.items():
            failed = self._failed_at.get(owner)
            if failed is not None and (now - failed).total_seconds() < _MAIL_AGAIN_S:
                continue
            try:
                await self._mail(owner, of_owner, settings.mail)
            except LinkmendError as error:
                log.warning("my pages: %s", error)
                self._failed_at[owner] = now
                continue
            self._failed_at.pop(owner, None)
            for change in of_owner:
                await asyncio.to_thread(self._lessons.store.note_told, change.page.id, change.dead)

    def _change(self, page: Lesson) -> PageChange | None:
        """What the owner of a page has to be told; the first check is no news, they watch it on the page."""
        store = self._lessons.store
        told, links = store.told(page.id), store.links(page.id)
        if told is None:
            if not any(link.found.state is CheckState.WAITING for link in links):
                store.note_told(page.id, (link.url for link in links if link.found.state in _DEAD))
            return None
        return change_of(page, links, told)

    async def _mail(self, owner: str, changes: list[PageChange], settings: MailSettings) -> None:
        """Raises LinkmendError."""
        address, language = await asyncio.to_thread(self._lessons.teachers.mail_of, owner)
        worth_it = [change for change in changes if change.gone or change.back]
        if not (address and settings.server and settings.sender and worth_it):
            return
        mail = mail_of(worth_it, choose(language), sender=settings.sender, to=address)
        await asyncio.to_thread(self._deliver, mail, settings)
