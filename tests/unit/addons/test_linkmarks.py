"""addons.linkmarks: links of stored pages are marked while offline, and pages of sites never."""

import gzip

import pytest

from addons.flows import make_response
from addons.flowstate import AnsweredBy, state_of
from addons.linkmarks import OfflineLinkMarks
from proxy.portal.linkjudging import LinkMark
from proxy.portal.linkmarking import LinkMarker
from tests.make import a_flow

BROWSER = [("Accept", "text/html"), ("If-None-Match", '"1"')]
BODY = b'<p><a href="/dead">x</a>'


class Marks:
    async def marks(self, source_url, offline):
        return (LinkMark(target="http://school.test/dead"),)


async def shown(
    *,
    offline=True,
    enabled=True,
    by=AnsweredBy.CACHE,
    status=200,
    kind="text/html",
    headers=BROWSER,
    coded=False,
):
    marker = LinkMarker(Marks(), enabled=lambda: enabled, offline=lambda: offline)
    addon = OfflineLinkMarks(marker, lambda: offline)
    flow = a_flow("http://school.test/page", headers=headers)
    addon.requestheaders(flow)
    fields = [("Content-Type", kind), ("ETag", '"1"')]
    if coded:
        fields.append(("Content-Encoding", "gzip"))
    flow.response = make_response(
        status=status, headers=tuple(fields), body=gzip.compress(BODY) if coded else BODY
    )
    state_of(flow).answered_by = by
    await addon.response(flow)
    return flow


@pytest.mark.parametrize("coded", [False, True])
async def test_a_stored_page_is_marked_while_offline(coded):
    flow = await shown(coded=coded)
    assert b'data-linkmend="nowhere"' in flow.response.raw_content
    assert flow.response.headers["content-length"] == str(len(flow.response.raw_content))
    assert "etag" not in flow.response.headers
    assert "content-encoding" not in flow.response.headers
    assert "if-none-match" not in flow.request.headers


@pytest.mark.parametrize(
    "known",
    [
        {"offline": False},
        {"by": None},
        {"by": AnsweredBy.REPAIR},
        {"enabled": False},
        {"status": 404},
        {"kind": "text/css"},
        {"headers": [("Accept", "*/*"), ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")]},
    ],
)
async def test_all_else_is_passed_on_as_it_is(known):
    flow = await shown(**known)
    assert flow.response.raw_content == BODY
    assert flow.response.headers["etag"] == '"1"'
