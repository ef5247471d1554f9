"""`attributed_*` metrics by data-driven models equal `GET /attribution`."""

from datetime import timedelta
from fractions import Fraction

import pytest

from plugins.attribution_models.models import MODELS
from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.resolve_model import credit_rule_for
from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery, SortKey
from service_core.analytics.query.sources import EventSource
from service_core.kernel.availability import Measured, Unavailable, UnavailableReason
from service_core.kernel.bucket_series import build_bucket_series
from service_core.kernel.date_range import parse_start_end_dates
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, campaign, utc_instant

CATALOG = Catalog.of(CORE_METRICS, CORE_DIMENSIONS)
NAMES = ("attributed_conversions", "attributed_revenue")


@pytest.fixture
def story(caller):
    """Paths of channels A (2 convert, 1 does not), B (1 converts) and A, B (1 converts), at 10.00 each."""
    story = EventBuilder(caller.workspace.id)
    paths = (("V1", "A", 2), ("V2", "A", 3), ("V3", "A", None), ("V4", "B", 3), ("V5", "AB", 3))
    for visitor, channels, day in paths:
        for hour, channel in enumerate(channels):
            at = utc_instant("2026-07-01T12:00") + timedelta(hours=hour)
            own = campaign(channel, "cpc", channel=channel)
            story.add_event("page_view", at=at, visitor=visitor, session=f"s{hour}", **own)
        if day:
            at = utc_instant("2026-07-01T15:00") + timedelta(days=day - 1)
            story.add_event("purchase", at=at, visitor=visitor, session="till", revenue=1_000)
    return story


@pytest.fixture
def run_metric_query(caller, queue, story):
    async def run_metric_query(model="markov", floor=1, names=NAMES, buckets=None, **parts):
        store = MemoryEventStore()
        await store.append(story.events)
        models = AttributionModels(AttributionModels.of(MODELS).by_id, floor)
        questions = MetricQueries(CATALOG, (EventSource(store, store, queue, models),))
        asked = parse_start_end_dates("2026-07-01", "2026-07-04", caller.workspace.zone, caller.now)
        question = MetricQuery(
            names, asked, buckets=build_bucket_series(asked, buckets) if buckets else None,
            credit_rule=credit_rule_for(models, AttributionSettings(model=model)), **parts,
        )  # fmt: skip
        snapshot = await questions.read_snapshot(caller, question.metrics)
        return await questions.execute(caller, question, snapshot)

    return run_metric_query


def table(found):
    return {row.labels or row.bucket: tuple(reading.value for reading in row.values) for row in found.rows}


@pytest.mark.parametrize(
    ("model", "a", "b"),
    [("markov", (Fraction("2.4"), 2_400), (Fraction("1.6"), 1_600)), ("shapley", (Fraction("2.5"), 2_500), (Fraction("1.5"), 1_500))],
)  # fmt: skip
async def test_metrics_by_channel_are_shared_out_by_the_model(run_metric_query, model, a, b):
    found = await run_metric_query(model, dimensions=("channel",), order=(SortKey("attributed_revenue"),))
    assert table(found) == {("A",): a, ("B",): b}


async def test_the_total_is_that_of_every_model(run_metric_query):
    assert [reading.value for reading in (await run_metric_query()).rows[0].values] == [4, 4_000]


async def test_a_filter_keeps_the_keys_that_meet_it(run_metric_query):
    found = await run_metric_query(filters=(DimensionFilter("channel", value="B"),))
    assert [reading.value for reading in found.rows[0].values] == [Fraction("1.6"), 1_600]


async def test_buckets_are_shared_out_in_the_proportion_of_the_whole_range(run_metric_query):
    found = await run_metric_query(
        dimensions=("channel",), filters=(DimensionFilter("channel", value="A"),), buckets=BucketUnit.DAY
    )
    by_day = {row.bucket.day: row.values[1].value for row in found.rows}
    assert by_day == {2: 600, 3: 1_800}


async def test_other_metrics_stand_beside_them_unchanged(run_metric_query):
    found = await run_metric_query(
        names=("visitors", "attributed_conversions"),
        dimensions=("channel",),
        limit=1,
        order=(SortKey("visitors"),),
    )
    assert table(found) == {("A",): (4, Fraction("2.4"))}
    assert found.total_rows == 3


async def test_under_the_floor_they_are_unavailable_and_others_are_not(run_metric_query):
    found = await run_metric_query(floor=300, names=("visitors", "attributed_conversions"))
    assert found.rows[0].values == (Measured(5), Unavailable(UnavailableReason.INSUFFICIENT_DATA))
