"""`attributed_*` metrics by data-driven models equal `GET /attribution`."""

from datetime import timedelta
from fractions import Fraction

import pytest

from plugins.attribution_models.models import MODELS
from plugins.events_memory.adapter import MemoryEventStore
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.resolve_model import credit_rule_or_last_touch_with_model_id
from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery, SortKey
from service_core.analytics.query.sources import EventSource
from service_core.kernel.availability import Measured, Unavailable, UnavailableReason
from service_core.kernel.bucket_series import build_series_of_at_most_1000_buckets
from service_core.kernel.date_range import parse_inclusive_start_end_dates
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, campaign_columns, utc_instant

CATALOG = Catalog.from_validated_definitions(CORE_METRICS, CORE_DIMENSIONS)
NAMES = ("attributed_conversions", "attributed_revenue")


@pytest.fixture
def story(caller):
    """Paths of channels A (2 convert, 1 does not), B (1 converts) and A, B (1 converts), at 10.00 each."""
    story = EventBuilder(caller.workspace.id)
    paths = (("V1", "A", 2), ("V2", "A", 3), ("V3", "A", None), ("V4", "B", 3), ("V5", "AB", 3))
    for visitor, channels, day in paths:
        for hour, channel in enumerate(channels):
            at = utc_instant("2026-07-01T12:00") + timedelta(hours=hour)
            own = campaign_columns(channel, "cpc", channel=channel)
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
        models = AttributionModels(AttributionModels.index_by_unique_id(MODELS).by_id, floor)
        queries = MetricQueries(CATALOG, (EventSource(store, store, queue, models),))
        request = parse_inclusive_start_end_dates(
            "2026-07-01", "2026-07-04", caller.workspace.zone, caller.now
        )
        metric_query = MetricQuery(
            names, request, buckets=build_series_of_at_most_1000_buckets(request, buckets) if buckets else None,
            credit_rule=credit_rule_or_last_touch_with_model_id(models, AttributionSettings(model=model)), **parts,
        )  # fmt: skip
        snapshot = await queries.read_source_states_once(caller, metric_query.metrics)
        return await queries.execute_marking_unfit_credits_unavailable(caller, metric_query, snapshot)

    return run_metric_query


def rows_by_key(found):
    return {row.labels or row.bucket: tuple(reading.value for reading in row.values) for row in found.rows}


@pytest.mark.parametrize(
    ("model", "a", "b"),
    [("markov", (Fraction("2.4"), 2_400), (Fraction("1.6"), 1_600)), ("shapley", (Fraction("2.5"), 2_500), (Fraction("1.5"), 1_500))],
)  # fmt: skip
async def test_attributed_metrics_by_channel_follow_the_model(run_metric_query, model, a, b):
    found = await run_metric_query(model, dimensions=("channel",), order=(SortKey("attributed_revenue"),))
    assert rows_by_key(found) == {("A",): a, ("B",): b}


async def test_attributed_revenue_by_shapley_is_the_money_of_each_channels_own_paths(run_metric_query, story):
    """Path A pays 1000 more in one order, so channel B gets nothing of it."""
    at = utc_instant("2026-07-02T16:00")
    story.add_event("purchase", at=at, visitor="V1", session="till", revenue=100_000)
    found = await run_metric_query(
        "shapley",
        names=("attributed_revenue", "attributed_net_revenue"),
        dimensions=("channel",),
        order=(SortKey("attributed_revenue"),),
    )
    assert rows_by_key(found) == {("A",): (102_500, 102_500), ("B",): (1_500, 1_500)}


async def test_attributed_orders_by_shapley_are_those_of_each_channels_own_paths(run_metric_query, story):
    """Signups after channel B alone are conversions of B and take no order from A."""
    for number in range(6):
        at = utc_instant("2026-07-02T16:00") + timedelta(minutes=number)
        story.add_event("signup", at=at, visitor="V4", session="till")
    found = await run_metric_query(
        "shapley",
        names=("attributed_conversions", "attributed_orders"),
        dimensions=("channel",),
        order=(SortKey("attributed_orders"),),
    )
    assert rows_by_key(found) == {
        ("A",): (Fraction("2.5"), Fraction("2.5")),
        ("B",): (Fraction("7.5"), Fraction("1.5")),
    }


async def test_attributed_total_equals_that_of_other_models(run_metric_query):
    assert [reading.value for reading in (await run_metric_query()).rows[0].values] == [4, 4_000]


@pytest.mark.parametrize("model", ["markov", "shapley"])
async def test_attributed_revenue_of_channels_adds_up_to_the_last_cent(run_metric_query, story, model):
    story.events.clear()
    for visitor, channel in (("V1", "A"), ("V2", "B"), ("V3", "A")):
        own = campaign_columns(channel, "cpc", channel=channel)
        story.add_event("page_view", at="2026-07-01T12:00", visitor=visitor, session="s", **own)
    for hour, (visitor, revenue) in enumerate((("V1", 500), ("V2", 501))):
        at = f"2026-07-02T1{hour}:00"
        story.add_event("purchase", at=at, visitor=visitor, session="till", revenue=revenue)
    found = await run_metric_query(model, names=("attributed_revenue",), dimensions=("channel",))
    assert sum(row.values[0].value for row in found.rows) == 1_001


async def test_filter_keeps_only_matching_channels(run_metric_query):
    found = await run_metric_query(filters=(DimensionFilter("channel", value="B"),))
    assert [reading.value for reading in found.rows[0].values] == [Fraction("1.6"), 1_600]


async def test_bucket_values_are_split_by_the_shares_of_the_whole_range(run_metric_query):
    found = await run_metric_query(
        dimensions=("channel",), filters=(DimensionFilter("channel", value="A"),), buckets=BucketUnit.DAY
    )
    by_day = {row.bucket.day: row.values[1].value for row in found.rows}
    assert by_day == {2: 600, 3: 1_800}


async def test_other_metrics_are_unchanged_beside_attributed_ones(run_metric_query):
    found = await run_metric_query(
        names=("visitors", "attributed_conversions"),
        dimensions=("channel",),
        limit=1,
        order=(SortKey("visitors"),),
    )
    assert rows_by_key(found) == {("A",): (4, Fraction("2.4"))}
    assert found.total_rows == 3


async def test_attributed_metrics_are_unavailable_below_the_minimum_of_conversions(run_metric_query):
    found = await run_metric_query(floor=300, names=("visitors", "attributed_conversions"))
    assert found.rows[0].values == (Measured(5), Unavailable(UnavailableReason.INSUFFICIENT_DATA))
