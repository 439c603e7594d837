"""The API of topics."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from proxy.admin.routing import AdminContext, ApiCall, ApiProblem, ApiRequest, Route, page_request_of
from proxy.admin.rules.service import author
from proxy.admin.topics.service import AdminTopics, TopicOverview
from repair.crawling.frontierstore import LinkState
from repair.crawling.topics import DEFAULT_BYTES, DEFAULT_PAGES, InvalidTopic, Topic

Name = Annotated[str, Meta(min_length=1, max_length=100)]
Text = Annotated[str, Meta(max_length=2_000)]
Texts = Annotated[list[Text], Meta(max_length=500)]


class TopicBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """A topic as the school writes it down."""

    name: Name
    subtopics: Texts = []
    words: Texts = []
    seeds: Texts = []
    language: Annotated[str, Meta(max_length=3)] = ""
    max_pages: Annotated[int, Meta(ge=1, le=10**9)] = DEFAULT_PAGES
    max_bytes: Annotated[int, Meta(ge=1, le=10**15)] = DEFAULT_BYTES
    hours: Annotated[str, Meta(max_length=11)] = ""
    groups: Texts = []


class TopicInfo(Struct, kw_only=True):
    """A topic, how many pages it has, and how far its crawl is."""

    topic: TopicBody
    pages: int
    links: dict[LinkState, int]
    received_bytes: int
    in_progress: bool


class TopicPageInfo(Struct, kw_only=True):
    """A page of a topic."""

    url: str
    probability: float


class TopicDetailInfo(Struct, kw_only=True):
    """A topic with its likeliest pages."""

    info: TopicInfo
    likeliest: list[TopicPageInfo]


class TopicName(Struct, kw_only=True):
    name: Name


class SyllabusBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """A syllabus: CSV with a header line, or an outline."""

    text: Annotated[str, Meta(min_length=1, max_length=200_000)]


class TopicVerdict(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a person says of a page."""

    name: Name
    url: Annotated[str, Meta(min_length=1, max_length=4_000)]
    belongs: bool


def routes(admin: AdminContext) -> list[Route]:
    return TopicApi(AdminTopics(admin.topics)).routes() if admin.topics is not None else []


class TopicApi:
    """The API calls over the topics."""

    def __init__(self, topics: AdminTopics) -> None:
        self._topics = topics

    def routes(self) -> list[Route]:
        base = "/admin/api/topics"
        return [
            ApiCall(
                method="GET",
                path=base,
                handler=self._list,
                summary="The topics that the school teaches, and how far their crawls are",
                answer=list[TopicInfo],
            ),
            ApiCall(
                method="POST",
                path=base,
                handler=self._put,
                summary="Add a topic, or replace the one of this name and keep its pages",
                body=TopicBody,
                answer=TopicInfo,
                problems=(409,),
            ),
            ApiCall(
                method="GET",
                path=f"{base}/topic",
                handler=self._get,
                summary="One topic with its likeliest pages",
                query=TopicName,
                answer=TopicDetailInfo,
                problems=(404,),
            ),
            ApiCall(
                method="DELETE",
                path=f"{base}/topic",
                handler=self._remove,
                summary="Remove a topic; its pages stay saved",
                query=TopicName,
                answer=None,
                status=204,
                problems=(404,),
            ),
            ApiCall(
                method="POST",
                path=f"{base}/import",
                handler=self._import,
                summary="Add the topics of a syllabus",
                body=SyllabusBody,
                answer=list[TopicBody],
                problems=(409,),
            ),
            ApiCall(
                method="POST",
                path=f"{base}/verdicts",
                handler=self._judge,
                summary="Say that a page belongs to a topic, or does not; the next crawl learns from it",
                body=TopicVerdict,
                answer=TopicVerdict,
                problems=(404, 409),
            ),
        ]

    async def _list(self, given: ApiRequest) -> list[TopicInfo]:
        return [_info(each) for each in await asyncio.to_thread(self._topics.list)]

    async def _get(self, given: ApiRequest) -> TopicDetailInfo:
        found = await asyncio.to_thread(self._topics.get, given.query.name)
        if found is None:
            raise ApiProblem(404, "no such topic")
        pages = [TopicPageInfo(url=page.url, probability=round(page.probability, 3)) for page in found.pages]
        return TopicDetailInfo(info=_info(found.overview), likeliest=pages)

    async def _put(self, given: ApiRequest) -> TopicInfo:
        body = given.body
        try:
            topic = Topic(
                name=body.name.strip(),
                subtopics=tuple(body.subtopics),
                words=tuple(body.words),
                seeds=tuple(body.seeds),
                language=body.language,
                max_pages=body.max_pages,
                max_bytes=body.max_bytes,
                hours=body.hours,
                groups=tuple(body.groups),
            )
            await asyncio.to_thread(self._topics.put, topic, by=_author(given))
        except InvalidTopic as error:
            raise ApiProblem(409, str(error)) from error
        found = await asyncio.to_thread(self._topics.get, topic.name)
        if found is None:
            raise ApiProblem(409, "the topic was removed meanwhile")
        return _info(found.overview)

    async def _remove(self, given: ApiRequest) -> None:
        if not await asyncio.to_thread(self._topics.remove, given.query.name, by=_author(given)):
            raise ApiProblem(404, "no such topic")

    async def _import(self, given: ApiRequest) -> list[TopicBody]:
        try:
            topics = await asyncio.to_thread(self._topics.import_syllabus, given.body.text, by=_author(given))
        except InvalidTopic as error:
            raise ApiProblem(409, str(error)) from error
        return [_body(topic) for topic in topics]

    async def _judge(self, given: ApiRequest) -> TopicVerdict:
        verdict: TopicVerdict = given.body
        try:
            known = await asyncio.to_thread(
                self._topics.judge, verdict.name, verdict.url, belongs=verdict.belongs, by=_author(given)
            )
        except InvalidTopic as error:
            raise ApiProblem(409, str(error)) from error
        if not known:
            raise ApiProblem(404, "no such topic")
        return verdict


def _author(given: ApiRequest) -> str:
    return author(page_request_of(given.request))


def _info(found: TopicOverview) -> TopicInfo:
    return TopicInfo(
        topic=_body(found.topic),
        pages=found.pages,
        links=found.counts.states,
        received_bytes=found.counts.received,
        in_progress=found.in_progress,
    )


def _body(topic: Topic) -> TopicBody:
    return TopicBody(
        name=topic.name,
        subtopics=list(topic.subtopics),
        words=list(topic.words),
        seeds=list(topic.seeds),
        language=topic.language,
        max_pages=topic.max_pages,
        max_bytes=topic.max_bytes,
        hours=topic.hours,
        groups=list(topic.groups),
    )
