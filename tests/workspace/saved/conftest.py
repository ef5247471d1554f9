"""A shop with a week of events, and programs that save reports about it."""

import asyncio

import pytest

from service_core.testing.event_builder import EventBuilder, campaign_columns
from tests.workspace.conftest import WorkspaceApi

WEEK = {"from": "2026-07-01", "to": "2026-07-07"}
DATES = "start_date=2026-07-01&end_date=2026-07-07"


class ManualTimer:
    """The end of a budget: it rings when a test says so, and nobody waits for it."""

    def __init__(self):
        self.rung = asyncio.Event()
        self.seconds = []

    async def __call__(self, seconds):
        self.seconds.append(seconds)
        await self.rung.wait()


class SavedReportsApi(WorkspaceApi):
    """Saved reports, dashboards and analyses of a shop."""

    def __init__(self, folder, **sections):
        self.bell = ManualTimer()
        super().__init__(folder, alarm=self.bell, **sections)

    async def save(self, what, key="shop", **fields):
        """An applied create; what was made."""
        path = {"analysis": "analyses"}.get(what, f"{what}s")
        made = await self.ask("POST", f"/{path}", {what: fields}, key=key)
        assert made.status == 200, made.json
        return made.json["data"]

    async def chart(self, name="Visitors", *, metric="visitors", chart="number", **rest):
        fields = {"source": "catalog", "metric_id": metric, "chart": chart, "default_range": WEEK}
        return await self.save("report", name=name, **fields | rest)

    async def plan(self, name="By country", *, key="shop", **plan):
        plan = {"metrics": ["visitors"], "dimensions": ["country"]} | plan
        return await self.save("report", key, name=name, source="query", plan=plan, default_range=WEEK)

    async def funnel(self, *steps, **fields):
        fields = {"steps": list(steps), "default_range": WEEK, **fields}
        return await self.save("report", name="Funnel", source="query", **fields)

    async def board(self, *reports, key="shop", **fields):
        cards = [{"report_id": report["id"]} for report in reports]
        layout = {"v": 1, "cards": cards}
        return await self.save(
            "dashboard", key, **{"name": "Weekly", "layout": layout, "date_range": WEEK, **fields}
        )

    async def run(self, path, body=None, **where):
        ran = await self.ask("POST", f"{path}/run", body, **where)
        assert ran.status == 200, ran.json
        return ran.json

    async def refused(self, method, path, body, **where):
        """Status, code, field, and whether there is a hint; nothing was done."""
        answer = await self.ask(method, path, body, **where)
        return (*answer.refusal, "hint" in answer.json)

    async def unwritten(self, path, body=None):
        """Status, code and field of a refused run, which is no write."""
        answer = (await self.ask("POST", f"{path}/run", body)).json
        assert "applied" not in answer, answer
        return answer.get("code"), answer.get("field")


def add_visits(story):
    """Four visitors; Ann and Bob of Germany see two pages, Ann buys."""
    here = {"country": "DE", "device_type": "desktop"}
    google = campaign_columns("google", "cpc", "spring")
    story.add_event(
        "page_view", at="2026-07-01T10:00", visitor="ann", session="a", page_path="/", **here, **google
    )
    story.add_event("page_view", at="2026-07-01T10:01", visitor="ann", session="a", page_path="/buy", **here)
    story.add_event(
        "purchase", at="2026-07-01T10:05", visitor="ann", session="a", revenue=5000, order_id="1", **here
    )
    story.add_event("page_view", at="2026-07-02T10:00", visitor="bob", session="b", page_path="/", **here)
    story.add_event("page_view", at="2026-07-02T10:02", visitor="bob", session="b", page_path="/buy", **here)
    story.add_event(
        "page_view", at="2026-07-03T10:00", visitor="cy", session="c", page_path="/", country="FR"
    )
    story.add_event("page_view", at="2026-07-05T10:00", visitor="di", session="d", page_path="/")


@pytest.fixture
async def api_client(tmp_path):
    made = SavedReportsApi(tmp_path)
    async with made.service:
        await made.open()
        story = EventBuilder(made.workspaces["shop"].id)
        add_visits(story)
        await made.service.ports.events.append(story.events)
        yield made
