"""F27: pages are walked while events arrive inside the range: no row is left out, and none is invented."""

import random
from datetime import timedelta

import pytest

from service_core.analytics.ports import EventPageQuery
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_builder import EventBuilder
from tests.fault_injection.conftest import FULL
from tests.workspace.conftest import NOW, WorkspaceApi

KEPT = 40
PAGE = 7
ARRIVING = 5
"""Events that come in between two pages."""
DATES = "start_date=2026-07-06&end_date=2026-07-08"


class ContinuousAppends:
    """A workspace with events of two days, and more of them all the time, anywhere in the range."""

    def __init__(self, workspace_api):
        self.office, self.store = workspace_api, workspace_api.service.ports.events
        self.workspace = workspace_api.workspaces["shop"]
        self.rng, self.story = random.Random(27), EventBuilder(self.workspace.id)
        self.kept, self.late = [], 0

    async def arrive(self, number):
        """So many events, each at any moment of the range."""
        story = self.story
        story.events.clear()
        for _ in range(number):
            at = NOW - timedelta(seconds=self.rng.randrange(1, 150_000))
            story.add_event("page_view", at=at, visitor="A1", event_data={"plan": "free"})
        await self.store.append(story.events)
        return [event.event_id for event in story.events]

    async def asked(self, **parameters):
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        answer = await self.office.ask("GET", f"/events?{DATES}&limit={PAGE}&{query}")
        assert answer.status == 200, answer.json
        return answer.json


@pytest.fixture(params=["duckdb", "postgresql"] if FULL else ["duckdb"])
async def appends(request, tmp_path):
    is_duckdb = request.param == "duckdb"
    url = "duckdb:///events.db" if is_duckdb else request.getfixturevalue("postgres_url")
    workspace_api = WorkspaceApi(tmp_path, storage={"events": url})
    async with workspace_api.service:
        made = ContinuousAppends(await workspace_api.open())
        made.kept = await made.arrive(KEPT)
        yield made


async def test_paging_by_offset_skips_no_row_during_appends(appends):
    """Newer rows push older ones on: a row may come twice, and its id tells."""
    walked, offset, page = [], 0, {"has_more": True}
    while page["has_more"]:
        page = await appends.asked(offset=offset)
        walked += [row["event_id"] for row in page["events"]]
        offset += PAGE
        arrived = ARRIVING if offset < KEPT else 0
        assert page["total_count"] == len(appends.kept) + appends.late
        appends.late += len(await appends.arrive(arrived))
    assert set(appends.kept) <= set(walked)
    assert page["total_count"] == offset - PAGE + len(page["events"])


async def test_paging_reports_a_lower_bound_until_the_last_page(appends):
    filters = "%5B%7B%22key%22%3A%22plan%22%2C%22value%22%3A%22free%22%7D%5D"
    walked, offset, page = [], 0, {"has_more": True}
    while page["has_more"]:
        page = await appends.asked(offset=offset, property_filters=filters)
        walked += [row["event_id"] for row in page["events"]]
        assert page["total_count_is_lower_bound"] is page["has_more"]
        assert page["total_count"] == offset + len(page["events"]) <= len(appends.kept) + appends.late
        offset += PAGE
        appends.late += len(await appends.arrive(1 if page["has_more"] else 0))
    assert set(appends.kept) <= set(walked)
    assert page["total_count"] == len(appends.kept) + appends.late


async def test_paging_by_cursor_returns_every_row_once(appends):
    scan = EventBuilder(appends.workspace.id).query_scope(TimeRange(NOW - timedelta(days=3), NOW))
    walked, after = [], None
    while (
        page := await appends.store.list_events(EventPageQuery(scan, PAGE, count_total=False, after=after))
    ).events:
        walked += [event.event_id for event in page.events]
        after = page.events[-1].timestamp, page.events[-1].seq
        await appends.arrive(ARRIVING)
    assert len(set(walked)) == len(walked)
    assert set(appends.kept) <= set(walked)
