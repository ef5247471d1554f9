"""Saved work of the standard world's shop, made and shared through the API."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson

from service_core.access.keys import found_workspace, mint_key
from service_core.gateway.exchange import Request
from service_core.kernel.operations import Scope
from service_core.testing.story import Story, campaign
from service_core.testing.world import SHOP, standard_world
from tests.web.payloads import LONG_NAMES, PAYLOADS

WEEK = {"from": "2026-03-02", "to": "2026-03-08"}
AFTER = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)
PLENTY = 1_000_000

CHARTS = [
    {"source": "catalog", "metric_id": metric, "chart": chart}
    for metric, chart in (
        ("visitors", "number"), ("bounce_rate", "pie"), ("revenue", "number"), ("visitors", "area"),
        ("pageviews", "bar"), ("sessions", "line"), ("sessions", "table"), ("orders", "pie"),
    )
]  # fmt: skip
QUESTIONS = [
    {"source": "catalog", "metric_id": "visitors", "dimension": "referrer"},
    {"source": "query", "plan": {"metrics": ["visitors"], "dimensions": ["channel"], "interval": "day"}},
    {"source": "query", "plan": {"metrics": ["visitors", "sessions"], "interval": "day"}},
    {"source": "query", "plan": {"metrics": ["sessions", "bounce_rate"], "dimensions": ["country"]}},
    {"source": "query", "plan": {"metrics": ["visitors"], "dimensions": ["country", "browser"]}},
    {"source": "query", "plan": {"metrics": ["visitors", "revenue", "bounce_rate"]}},
    {"source": "query", "steps": ["page_view", "add_to_cart", "purchase"]},
]
EVERY_KIND = CHARTS + QUESTIONS


class Gallery:
    """A shop with events, and a key that may save and share.

    Args:
        service: a deployment whose ports are started.
    """

    def __init__(self, service):
        self.service = service
        self.workspace = None

    async def open(self, now, events=None, name="Example Shop"):
        """Found the workspace; without events it has those of the standard world."""
        store = self.service.ports.workspace
        self.week = WEEK if events is None else {"preset": "last_7_days"}
        if events is None:
            founded = (await found_workspace(store, now, name="Template")).workspace
            self.workspace = replace(
                founded, id=SHOP, public_id="k3Jx9QmZ2aPr", name=name, timezone="America/New_York"
            )
            await store.create_workspace(self.workspace)
        else:
            self.workspace = (await found_workspace(store, now, name=name)).workspace
        told = standard_world() if events is None else events(self.workspace.id, now)
        await self.service.ports.events.append(told)
        return self

    async def key(self):
        """A new key each time, as a key may change thirty things a minute."""
        store, scopes = self.service.ports.workspace, {Scope.READ, Scope.WRITE_REPORTS}
        now = self.service.ports.clock()
        minted = await mint_key(store, self.workspace, now, name="Reports", scopes=scopes, rate_limit=PLENTY)
        return minted.secret

    async def send(self, method, path, body=None):
        sent = b"" if body is None else orjson.dumps(body)
        headers = {"authorization": f"Bearer {await self.key()}"}
        response = await self.service.dispatch(Request(method, f"/v1{path}", "", headers, sent))
        said = orjson.loads(response.body)
        assert response.status == 200, (path, said)
        return said

    async def report(self, name="Visitors", **definition):
        given = definition or {"source": "catalog", "metric_id": "visitors", "chart": "line"}
        body = {"report": {"name": name, "default_range": self.week, **given}}
        return (await self.send("POST", "/reports", body))["data"]["id"]

    async def dashboard(self, report_ids, name="Weekly", **more):
        layout = {"v": 1, "cards": [{"report_id": one} for one in report_ids]}
        body = {"dashboard": {"name": name, "date_range": self.week, "layout": layout, **more}}
        return (await self.send("POST", "/dashboards", body))["data"]["id"]

    async def analysis(self, body_md, report_ids=(), title="Why", **more):
        wanted = {"title": title, "body_md": body_md, "report_ids": list(report_ids), **more}
        return (await self.send("POST", "/analyses", {"analysis": wanted}))["data"]["id"]

    async def share(self, kind, object_id, **more):
        """The link, with its `url` and the `path` of its page."""
        link = {"object_type": kind, "object_id": object_id, **more}
        data = (await self.send("POST", "/share-links", {"share_link": link}))["data"]
        return data | {"path": "/app/share/" + data["url"].rpartition("/")[2]}

    async def revoke(self, link):
        await self.send("DELETE", f"/share-links/{link['id']}")

    async def views(self, link):
        every = (await self.send("GET", "/share-links"))["share_links"]
        return next(one["view_count"] for one in every if one["id"] == link["id"])


def hostile(workspace_id, now):
    """Events of the last six days whose every text is a payload."""
    story = Story(workspace_id)
    for index, text in enumerate((*PAYLOADS, *LONG_NAMES)):
        here = {
            "at": now - timedelta(hours=index),
            "visitor": f"V{index}",
            "source": "browser",
            "session": f"s{index}",
        }
        told = {"page_path": text, "landing_page": text, "browser": text, **campaign(text, "cpc", text)}
        story.happens("page_view", **here, **told)
        story.happens(text, **here, **told, revenue=1000 + index)
    return story.events


async def exhibits(gallery):
    """A public page of every kind: a dashboard of all reports, an analysis, a report, one that is gone."""
    reports = [await gallery.report(f"Card {index}", **one) for index, one in enumerate(EVERY_KIND)]
    body = f"# Why\n\nIt *rose*, see [there](https://example.com).\n\n::report[{reports[3]}]\n\n> So.\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    shown = [
        await gallery.share("dashboard", await gallery.dashboard(reports), show_workspace_name=True),
        await gallery.share("analysis", await gallery.analysis(body, reports[3:4])),
        await gallery.share("report", reports[3]),
        await gallery.share("report", reports[0]),
    ]
    await gallery.revoke(shown[-1])
    return shown
