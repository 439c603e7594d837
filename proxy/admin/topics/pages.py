"""The admin pages of topics: the list, one topic with its pages and its crawl, and the forms that change them."""

import asyncio
from urllib.parse import urlencode

from aiohttp import web

from proxy.admin.misses.views import shown_address
from proxy.admin.routing import (
    AdminContext,
    AdminPage,
    ApiProblem,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.admin.rules.service import author
from proxy.admin.topics.service import AdminTopics, topic_of_form
from proxy.pages.desktexts import tr
from proxy.sizes import size
from repair.crawling.frontierstore import LinkState
from repair.crawling.topics import DEFAULT_BYTES, DEFAULT_PAGES, InvalidTopic

PATH = "/admin/topics"
_FIELDS = ("name", "subtopics", "words", "seeds", "groups", "language", "hours", "pages", "megabytes")
STATES = {
    LinkState.FETCHING: tr("being fetched"),
    LinkState.WAITING: tr("waiting"),
    LinkState.FETCHED: tr("fetched"),
    LinkState.HELD: tr("saved before"),
    LinkState.FAILED: tr("failed"),
    LinkState.REFUSED: tr("not allowed"),
}


def routes(admin: AdminContext) -> list[Route]:
    if admin.topics is None:
        return []
    pages = TopicPages(AdminTopics(admin.topics))
    return [
        AdminPage(path=PATH, handler=pages.show, menu=tr("Topics")),
        AdminPage(path=f"{PATH}/topic", handler=pages.topic),
        AdminPage(path=f"{PATH}/save", handler=pages.save, method="POST"),
        AdminPage(path=f"{PATH}/import", handler=pages.import_, method="POST"),
        AdminPage(path=f"{PATH}/remove", handler=pages.remove, method="POST"),
        AdminPage(path=f"{PATH}/judge", handler=pages.judge, method="POST"),
    ]


def about_topic(name: str) -> str:
    """The page of a topic."""
    return f"{PATH}/topic?{urlencode({'name': name})}"


class TopicPages:
    """The pages over the topics."""

    def __init__(self, topics: AdminTopics) -> None:
        self._topics = topics

    async def show(self, request: web.Request) -> web.StreamResponse:
        return await self._list(request)

    async def topic(self, request: web.Request) -> web.StreamResponse:
        return await self._one(request, request.query.get("name", ""))

    async def save(self, request: web.Request) -> web.StreamResponse:
        """Add or change a topic; a form that is wrong comes back with what is wrong."""
        fields = await form(request)
        try:
            topic = topic_of_form(fields)
            is_new = await asyncio.to_thread(self._topics.put, topic, by=author(page_request_of(request)))
        except InvalidTopic as error:
            return await self._list(request, fields=fields, fault=str(error))
        notice = tr("Added: {name}.", name=topic.name) if is_new else tr("Changed: {name}.", name=topic.name)
        return see_other(request, about_topic(topic.name), notice=notice)

    async def import_(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        text = fields.get("syllabus", "")
        try:
            topics = await asyncio.to_thread(
                self._topics.import_syllabus, text, by=author(page_request_of(request))
            )
        except InvalidTopic as error:
            return await self._list(request, syllabus=text, syllabus_fault=str(error))
        return see_other(request, PATH, notice=tr("Topics imported: {count}.", count=len(topics)))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        name = (await form(request)).get("name", "")
        removed = await asyncio.to_thread(self._topics.remove, name, by=author(page_request_of(request)))
        notice = (
            tr("Removed: {name}. Its pages stay saved.", name=name)
            if removed
            else tr("There is no such topic.")
        )
        return see_other(request, PATH, notice=notice)

    async def judge(self, request: web.Request) -> web.StreamResponse:
        """What the admin says of a page: that it belongs to a topic, or not."""
        fields = await form(request)
        name, belongs = fields.get("name", ""), fields.get("belongs") == "yes"
        try:
            known = await asyncio.to_thread(
                self._topics.judge,
                name,
                fields.get("url", "").strip(),
                belongs=belongs,
                by=author(page_request_of(request)),
            )
        except InvalidTopic as error:
            raise ApiProblem(400, str(error)) from error
        if not known:
            return see_other(request, PATH, notice=tr("There is no such topic."))
        notice = (
            tr("The page belongs to the topic. The next crawl learns from it.")
            if belongs
            else tr("The page was taken out of the topic. The next crawl learns from it.")
        )
        return see_other(request, about_topic(name), notice=notice)

    async def _list(
        self,
        request: web.Request,
        *,
        fields: dict[str, str] | None = None,
        fault: str = "",
        syllabus: str = "",
        syllabus_fault: str = "",
    ) -> web.StreamResponse:
        return render(
            request,
            "desk/topics.html.jinja",
            title=tr("Topics"),
            status=400 if fault or syllabus_fault else 200,
            topics=await asyncio.to_thread(self._topics.list),
            fields=dict.fromkeys(_FIELDS, "") | (fields or {}),
            fault=fault,
            syllabus=syllabus,
            syllabus_fault=syllabus_fault,
            about_topic=about_topic,
            default_pages=DEFAULT_PAGES,
            default_megabytes=DEFAULT_BYTES // 10**6,
            size=size,
        )

    async def _one(self, request: web.Request, name: str) -> web.StreamResponse:
        found = await asyncio.to_thread(self._topics.get, name)
        if found is None:
            raise ApiProblem(404, tr("no such topic"))
        topic = found.overview.topic
        return render(
            request,
            "desk/topic.html.jinja",
            title=topic.name,
            topic=topic,
            overview=found.overview,
            pages=found.pages,
            next_links=found.next_links,
            states=STATES,
            fields={
                "name": topic.name,
                "subtopics": "\n".join(topic.subtopics),
                "words": "\n".join(topic.words),
                "seeds": "\n".join(topic.seeds),
                "groups": "\n".join(topic.groups),
                "language": topic.language,
                "hours": topic.hours,
                "pages": str(topic.max_pages),
                "megabytes": str(max(1, topic.max_bytes // 10**6)),
            },
            default_pages=DEFAULT_PAGES,
            default_megabytes=DEFAULT_BYTES // 10**6,
            shown_address=shown_address,
            size=size,
        )
