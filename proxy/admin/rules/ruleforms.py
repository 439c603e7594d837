"""Rules by form: a template says what a rule is for, and the form asks only for what it needs.

The rule is written into the desk's own file, before those that are there; everything else is done in the text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from proxy.admin.routing import (
    AdminPage,
    ApiProblem,
    Route,
    form_fields,
    page_request_of,
    render,
    see_other,
)
from proxy.admin.rules.service import RulesService, author
from proxy.pages.desktexts import tr
from proxy.rules.hours import DAYS
from proxy.rules.model import RuleAction, RulesError
from proxy.rules.writing import rule_text

PATH = "/admin/rules/new"
_MAX_TEXT = 2_000
_LISTS = ("domain", "client")
_DAY_NAMES = (
    tr("Monday"),
    tr("Tuesday"),
    tr("Wednesday"),
    tr("Thursday"),
    tr("Friday"),
    tr("Saturday"),
    tr("Sunday"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTemplate:
    """What a rule is for: its action, the fields that it asks for, and what stands in them at first."""

    title: str
    action: RuleAction
    fields: tuple[str, ...]
    about: str
    preset: Mapping[str, str | tuple[str, ...]]


TEMPLATES: Mapping[str, RuleTemplate] = {
    "block": RuleTemplate(
        title=tr("Block a site"),
        action=RuleAction.BLOCK,
        fields=("domain", "client", "reason"),
        about=tr("Pupils get a page that says so, with your reason."),
        preset={},
    ),
    "lessons": RuleTemplate(
        title=tr("Block a site during lessons"),
        action=RuleAction.BLOCK,
        fields=("domain", "time", "weekday", "client", "reason"),
        about=tr("At other times the site is open."),
        preset={"time": "08:00-13:00", "weekday": DAYS[:5]},
    ),
    "redirect": RuleTemplate(
        title=tr("Send an old address to a new one"),
        action=RuleAction.REDIRECT,
        fields=("url", "to"),
        about=tr("A * stands for anything, such as http://library.example/old/*"),
        preset={},
    ),
    "pass": RuleTemplate(
        title=tr("Leave the error pages of a site as they are"),
        action=RuleAction.PASS,
        fields=("domain",),
        about=tr("For sites whose own error pages help."),
        preset={},
    ),
    "bypass": RuleTemplate(
        title=tr("Do not decrypt a site"),
        action=RuleAction.BYPASS,
        fields=("domain",),
        about=tr("For apps and sites that refuse the certificate. Nothing of it is repaired or saved."),
        preset={},
    ),
}


def routes(work: RulesService) -> list[Route]:
    pages = RuleFormPages(work)
    return [
        AdminPage(path=PATH, handler=pages.show),
        AdminPage(path=PATH, handler=pages.save, method="POST"),
    ]


class RuleFormPages:
    """The form, and what it writes."""

    def __init__(self, work: RulesService) -> None:
        self._work = work

    async def show(self, request: web.Request) -> web.StreamResponse:
        name = request.query.get("template", "block")
        return _page(request, name, _template(name).preset)

    async def save(self, request: web.Request) -> web.StreamResponse:
        """Add the rule, or show the form again with what is wrong."""
        pairs = await form_fields(request)
        name = dict(pairs).get("template", "")
        template = _template(name)
        given = _given(pairs, ("name", *template.fields))
        if not given.get(template.fields[0]):
            return _page(request, name, given, fault=tr("Fill in the first field."), status=422)
        text = rule_text(**_as_written(given), action=template.action.value)
        try:
            await self._work.add(text, by=author(page_request_of(request)))
        except RulesError as error:
            return _page(request, name, given, fault=error.faults[0].reason, status=422)
        return see_other(request, "/admin/rules", notice=tr("The rule is in force."))


def _template(name: str) -> RuleTemplate:
    if name not in TEMPLATES:
        raise ApiProblem(404, tr("no such template"))
    return TEMPLATES[name]


def _given(pairs: list[tuple[str, str]], fields: tuple[str, ...]) -> dict[str, str | tuple[str, ...]]:
    """The fields of a template, bounded; days are several."""
    given: dict[str, str | tuple[str, ...]] = {
        name: " ".join(value[:_MAX_TEXT].split()) for name, value in pairs if name in fields
    }
    days = tuple(day for day in DAYS if ("weekday", day) in pairs)
    return given | ({"weekday": days} if "weekday" in fields else {})


def _as_written(given: Mapping[str, str | tuple[str, ...]]) -> dict[str, str | list[str]]:
    """The values as a rule has them: several sites or networks are a list, an address of a site is its name."""
    written: dict[str, str | list[str]] = {}
    for name, value in given.items():
        if isinstance(value, tuple) or name in _LISTS:
            entries = value if isinstance(value, tuple) else re.split(r"[\s,]+", value.strip())
            written[name] = [_host(each) if name == "domain" else each for each in entries if each]
        else:
            written[name] = value
    return written


def _host(text: str) -> str:
    return re.sub(r"^https?://([^/]+).*$", r"\1", text)


def _page(
    request: web.Request,
    name: str,
    given: Mapping[str, str | tuple[str, ...]],
    *,
    fault: str = "",
    status: int = 200,
) -> web.Response:
    template = _template(name)
    return render(
        request,
        "desk/ruleform.html.jinja",
        title=template.title,
        status=status,
        wanted=template,
        template_name=name,
        templates=[(key, each.title) for key, each in TEMPLATES.items()],
        given=given,
        fault=fault,
        days=list(zip(DAYS, _DAY_NAMES, strict=True)),
    )
