"""No workspace reaches into another (S1): every route x every id x (own, other, deleted, random).

The routes are those of the API: one with an id that nobody here knows how to make fails. What another
workspace owns is answered as what never was, byte for byte once the ids are left out.
"""

import re
from itertools import count

import pytest

from hosts.composition.compose import installed
from service_core.insight.connections.model import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Surface
from service_core.testing.story import Story
from tests.workspace.domains import Registrar

LINK = {"name": "Spring", "destination_url": "https://example.com/a", "slug": "spring"}
RULE = {"name": "Sale", "trigger_event": "purchase", "platform": "meta", "platform_event": "Purchase"}
SCRIPT = {"name": "Chat", "type": "inline", "content": "1"}
REPORT = {"name": "Visitors", "source": "catalog", "metric_id": "visitors", "chart": "number"}
EXPORT = {"type": "events", "start_date": "2026-07-01", "end_date": "2026-07-02"}

OF_ANOTHER_CREDENTIAL = {
    "GET /signup/{signupId}": "bound to its own secret, tests/access/test_signup.py",
    "GET /exports/download/{exportId}": "bound to its signature, tests/delivery/test_downloads.py",
}
"""Routes whose id is not of a workspace's key, and where they are held to it."""

BODIES = {
    "PATCH /links/{linkId}": {"link": {"name": "New"}},
    "PATCH /rules/{ruleId}": {"rule": {"name": "New"}},
    "PATCH /reports/{reportId}": {"report": {"name": "New"}},
    "PATCH /dashboards/{dashboardId}": {"dashboard": {"name": "New"}},
    "PATCH /analyses/{analysisId}": {"analysis": {"title": "New"}},
    "POST /dashboards/{dashboardId}/reorder": {"report_ids": []},
}
"""What a route needs beside the id."""

INSIDE = {
    "POST /links": ("domainId", lambda one: {"link": LINK | {"slug": None, "domain_id": one}}),
    "POST /dashboards": ("reportId", lambda one: {"dashboard": {"name": "D", "layout": _cards(one)}}),
    "PATCH /dashboards": ("reportId", lambda one: {"dashboard": {"layout": _cards(one)}}),
    "POST /analyses": (
        "reportId",
        lambda one: {"analysis": {"title": "A", "body_md": "So.", "report_ids": [one]}},
    ),
    "POST /share-links report": ("reportId", lambda one: _shared("report", one)),
    "POST /share-links dashboard": ("dashboardId", lambda one: _shared("dashboard", one)),
    "POST /share-links analysis": ("analysisId", lambda one: _shared("analysis", one)),
}
"""Ids in the bodies of writes."""


def _cards(report):
    return {"v": 1, "cards": [{"report_id": report}]}


def _shared(what, object_id):
    return {"share_link": {"object_type": what, "object_id": object_id}}


class Belongings:
    """Something of every kind in both workspaces, and something deleted."""

    def __init__(self, office):
        self.office = office
        self.made = {}
        self.number = count()

    async def id(self, name, key, *, deleted=False):
        """An id of a kind, by the name the paths give it."""
        if (name, key, deleted) not in self.made:
            made = await MAKERS[name](self, key, deleted)
            self.made[name, key, deleted] = made
        return self.made[name, key, deleted]

    async def write(self, path, field, key, deleted, **fields):
        made = await self.office.ask("POST", path, {field: fields}, key=key)
        assert made.status == 200, made.json
        found = made.json["data"]["id"]
        if deleted:
            assert (await self.office.ask("DELETE", f"{path}/{found}", key=key)).status == 200
        return found

    async def link(self, key, deleted):
        slug = {"slug": f"spring-{next(self.number)}"}
        return await self.write("/links", "link", key, deleted, **LINK | slug)

    async def domain(self, key, deleted):
        registrar, host = Registrar(self.office, key), f"go{next(self.number)}.example.com"
        made = await registrar.own(host)
        if deleted:
            await registrar.remove(host)
        return made

    async def rule(self, key, deleted):
        asset = ConnectedAccount("act_1", "Main", (Asset("1234", "Pixel"),))
        workspace = self.office.workspaces[key]
        made = Connection(
            workspace.id, "meta", ProviderKind.ADS, ConnectionStatus.CONNECTED, self.office.now, (asset,)
        )
        await self.office.service.ports.workspace.save_connection(made)
        event = {"trigger_event": f"purchase_{next(self.number)}"}
        return await self.write("/rules", "rule", key, deleted, **RULE | event)

    async def proposal(self, key, deleted):
        made = await self.office.ask("POST", "/scripts/proposals", {"proposal": SCRIPT}, key=key)
        return made.json["data"]["id"]

    async def report(self, key, deleted):
        return await self.write("/reports", "report", key, deleted, **REPORT)

    async def dashboard(self, key, deleted):
        return await self.write("/dashboards", "dashboard", key, deleted, name="Weekly")

    async def analysis(self, key, deleted):
        return await self.write("/analyses", "analysis", key, deleted, title="Why", body_md="So.")

    async def share_link(self, key, deleted):
        body = _shared("report", await self.id("reportId", key))
        made = await self.office.ask("POST", "/share-links", body, key=key)
        return made.json["data"]["id"]

    async def entry(self, key, deleted):
        dashboard = await self.dashboard(key, False)
        made = await self.office.ask("DELETE", f"/dashboards/{dashboard}", key=key)
        return made.json["audit_id"]

    async def export(self, key, deleted):
        return (await self.office.ask("POST", "/exports", EXPORT, key=key)).json["id"]

    async def request(self, key, deleted):
        wanted = {"name": "Bot", "scopes": ["service:read"]}
        return (await self.office.ask("POST", "/keys/requests", wanted, key=key)).json["request_id"]

    async def user(self, key, deleted):
        story = Story(self.office.workspaces[key].id)
        story.happens("page_view", at="2026-07-08T10:00", visitor=f"visitor-of-{key}")
        await self.office.service.ports.events.append(story.events)
        return f"visitor-of-{key}"


MAKERS = {
    "linkId": Belongings.link,
    "domainId": Belongings.domain,
    "ruleId": Belongings.rule,
    "proposalId": Belongings.proposal,
    "reportId": Belongings.report,
    "dashboardId": Belongings.dashboard,
    "analysisId": Belongings.analysis,
    "shareLinkId": Belongings.share_link,
    "auditId": Belongings.entry,
    "exportId": Belongings.export,
    "requestId": Belongings.request,
    "userId": Belongings.user,
}
"""Id in a path -> how one comes to be."""

ENDLESS = {"proposalId", "shareLinkId", "auditId", "exportId", "requestId", "userId"}
"""Nothing deletes these; revoked share links stay."""

ROUTES = {
    f"{operation.method} {operation.path}": re.findall(r"\{(\w+)\}", operation.path)
    for operation in installed().operations
    if "{" in operation.path and operation.surface is Surface.V1
}


def without(answer, *ids):
    """An answer with the ids that were asked for, and its own, left out."""
    text = answer.bytes.decode()
    for one in ids:
        text = text.replace(one, "ID")
    return answer.status, text


@pytest.fixture
def belongings(office):
    office.service.ports.limits.__init__(1000, clock=lambda: office.now)  # each `ask` has a minute of its own
    return Belongings(office)


def test_every_id_of_a_route_can_be_made():
    names = {name for route, found in ROUTES.items() if route not in OF_ANOTHER_CREDENTIAL for name in found}
    assert names - set(MAKERS) == set()


async def test_what_another_workspace_owns_is_answered_as_what_never_was(office, belongings):
    leaks = []
    for route, (name,) in ROUTES.items():
        if route in OF_ANOTHER_CREDENTIAL:
            continue
        method, path = route.split(" ")
        asked = {
            "own": await belongings.id(name, "shop"),
            "other": await belongings.id(name, "other"),
            "random": str(new_id()),
        }
        if name not in ENDLESS:
            asked["deleted"] = await belongings.id(name, "shop", deleted=True)
        told = {
            kind: without(await office.ask(method, path.replace(f"{{{name}}}", one), BODIES.get(route)), one)
            for kind, one in reversed(asked.items())
        }
        assert told["random"][0] == 404, (route, told["random"])
        if told["own"][0] == 404:
            leaks.append(f"{route}: its own is not found")
        leaks += [
            f"{route}: {kind} {told[kind]}"
            for kind in ("other", "deleted")
            if told.get(kind, told["random"]) != told["random"]
        ]
        belongings.made = {key: one for key, one in belongings.made.items() if key[0] != name}
    assert leaks == []


@pytest.mark.parametrize("where", INSIDE)
async def test_an_id_in_a_body_is_no_way_in_either(office, belongings, where):
    name, body = INSIDE[where]
    method, path = where.split(" ")[:2]
    if method == "PATCH":
        path = f"{path}/{await belongings.id('dashboardId', 'shop')}"
    own, other = await belongings.id(name, "shop"), await belongings.id(name, "other")
    gone = await belongings.id(name, "shop", deleted=True)
    unknown = str(new_id())
    answers = {one: await office.ask(method, path, body(one)) for one in (other, gone, unknown, own)}
    assert answers[own].status == 200, answers[own].json
    assert answers[unknown].status == 422
    assert (
        without(answers[other], other) == without(answers[gone], gone) == without(answers[unknown], unknown)
    )


async def test_lists_and_searches_show_nothing_of_another_workspace(office, belongings):
    for name in MAKERS:
        await belongings.id(name, "shop")
    theirs = [await belongings.id(name, "other") for name in MAKERS]
    for operation in installed().operations:
        if operation.surface is Surface.V1 and operation.method == "GET" and "{" not in operation.path:
            query = "?start_date=2026-07-01&end_date=2026-07-08&q=visitor&dimension=channel&steps=a,b"
            answer = await office.ask("GET", operation.path + query)
            assert [one for one in theirs if one in answer.bytes.decode()] == [], operation.path
