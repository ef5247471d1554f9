"""Days of 23 to 25 hours, days without midnight, and time zones off the hour."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

QUARTER = timedelta(minutes=15)
GOLDEN = [
    ("America/New_York", "2026-03-08", "2026-03-08T05:00:00.000Z", 23),
    ("America/New_York", "2026-11-01", "2026-11-01T04:00:00.000Z", 25),
    ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00.000Z", 24.5),
    ("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00.000Z", 23.5),
    ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z", 23),
    ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00.000Z", 23),
    ("Asia/Tehran", "2026-01-01", "2025-12-31T20:30:00.000Z", 24),
    ("Asia/Kathmandu", "2026-01-01", "2025-12-31T18:15:00.000Z", 24),
]


@pytest.fixture
def read_local_day(served):
    """A page view in every quarter of an hour around a local day, each by a visitor of its own."""

    async def read_local_day(zone, start, hours):
        first = datetime.fromisoformat(start)
        shop = await served.workspace(timezone=zone)
        served.now = first + timedelta(days=3)
        for number in range(-8, int(hours * 4) + 8):
            shop.story.add_event(
                "page_view", at=first + number * QUARTER, visitor=f"V{number}", page_path="/"
            )
        await shop.knows()
        return shop

    return read_local_day


@pytest.mark.parametrize(("zone", "day", "start", "hours"), GOLDEN)
async def test_local_days_have_23_24_or_25_hours(read_local_day, zone, day, start, hours):
    shop = await read_local_day(zone, start, hours)
    quarters = int(hours * 4)
    overview = await shop.get("/overview", start_date=day, end_date=day, aggregation="day")
    assert overview["pageviews_total"] == quarters
    assert [(b["timestamp"], b["pageviews"]) for b in overview["time_series"]] == [(start, quarters)]
    assert overview["range"]["from"] == start
    plan = {"metrics": ["visitors"], "interval": "day", "date_range": {"from": day, "to": day}}
    assert (await shop.post("/query", plan))["rows"] == [
        {"bucket": start, "date": day, "partial": False, "visitors": quarters}
    ]
    assert (await shop.get("/events", start_date=day, end_date=day, limit=1))["total_count"] == quarters


@pytest.mark.parametrize(("zone", "day", "start", "hours"), GOLDEN)
async def test_hours_follow_the_wall_clock(read_local_day, zone, day, start, hours):
    """A skipped hour is absent, a repeated one appears twice; half an hour is a bucket of two quarters."""
    shop = await read_local_day(zone, start, hours)
    series = (await shop.get("/overview", start_date=day, end_date=day, aggregation="hour"))["time_series"]
    counts = [bucket["pageviews"] for bucket in series]
    assert sum(counts) == int(hours * 4)
    assert set(counts) <= {4, 2}
    instants = [datetime.fromisoformat(bucket["timestamp"]) for bucket in series]
    gaps = [(later - earlier) / timedelta(hours=1) for earlier, later in pairwise(instants)]
    assert [4 * gap for gap in gaps] == counts[:-1]
    assert len(series) == (hours if hours == int(hours) else int(hours + 0.5))


async def test_adjacent_days_partition_the_events(read_local_day):
    for zone, day, start, hours in GOLDEN:
        shop = await read_local_day(zone, start, hours)
        local = datetime.fromisoformat(day).date()
        around = {"from": str(local - timedelta(days=1)), "to": str(local + timedelta(days=1))}
        answer = await shop.post(
            "/query", {"metrics": ["pageviews"], "interval": "day", "date_range": around}
        )
        assert [row["pageviews"] for row in answer["rows"]] == [8, int(hours * 4), 8], zone
        assert answer["totals"]["pageviews"] == int(hours * 4) + 16
