"""What holds for every world, through the operations (semantics 23)."""

import asyncio
import json
from dataclasses import replace
from random import Random

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugins.attribution_models.catalog import MODELS
from plugins.events_memory.adapter import MemoryEvents
from service_core.gateway.render import plain
from service_core.insight.analytics_query import QueryRequest, post_query
from service_core.insight.attribution.model import Models
from service_core.insight.breakdowns import TrafficQuery, get_traffic
from service_core.insight.catalog import Additivity, Catalog
from service_core.insight.dimensions import DIMENSIONS
from service_core.insight.metric_values import MetricsRequest, post_metrics
from service_core.insight.metrics import METRICS
from service_core.insight.overview import OverviewQuery, get_overview
from service_core.insight.query.formula import atoms, leaf_of
from service_core.insight.query.questions import Questions
from service_core.insight.query.sources import NOT_CONNECTED, EventSource
from service_core.intake.ports import QueueState
from service_core.kernel.instants import wire
from service_core.kernel.params import body_of, query_of
from service_core.testing.generated import World, worlds

CATALOG = Catalog.of(METRICS, DIMENSIONS)
MEASURED = tuple(m.id for m in METRICS if not any(leaf_of(a).of in NOT_CONNECTED for a in atoms(m.measure)))
ADDITIVE = tuple(id_ for id_ in MEASURED if CATALOG.metrics[id_].additivity is Additivity.ADDITIVE)
GROUPS = ("utm_source", "country", "event_name", "new_vs_returning", "page_path", "channel")

generated = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class UpToDate:
    async def state(self):
        return QueueState(0, None)


class Asking:
    """The operations over one world; ``now`` is after its last event."""

    def __init__(self, who, world: World):
        workspace = replace(who.workspace, id=world.story.workspace_id, timezone=world.zone)
        self.who = replace(who, workspace=workspace, now=world.span.end)
        self.store = MemoryEvents()
        self.models = Models.of(MODELS)
        self.questions = Questions(CATALOG, (EventSource(self.store, self.store, UpToDate(), self.models),))
        self.range = {"from": wire(world.span.start), "to": wire(world.span.end)}

    async def query(self, **plan):
        plan = {"date_range": self.range, **plan}
        body = body_of(QueryRequest, orjson.dumps(plan), plan)
        answer = await post_query(
            body, who=self.who, questions=self.questions, models=self.models, log=self.store
        )
        return plain(answer)

    async def values(self, *metrics):
        request = {"metrics": list(metrics), "date_range": self.range}
        body = body_of(MetricsRequest, orjson.dumps(request), request)
        answer = await post_metrics(
            body, who=self.who, questions=self.questions, models=self.models, log=self.store
        )
        return {value.id: value.value for value in answer.metrics}


def asked(who, world, question):
    """Ask about a world and give the answer."""

    async def run():
        asking = Asking(who, world)
        await asking.store.append(world.story.events)
        return await question(asking)

    return asyncio.run(run())


@pytest.fixture
def of_world(who):
    return lambda world, question: asked(who, world, question)


@generated
@given(worlds(40))
def test_visitors_never_exceed_sessions_nor_sessions_events_and_events_add_up(of_world, drawn):
    async def question(asking):
        return await asking.query(
            metrics=["visitors", "sessions", "events", "pageviews", "custom_events"], interval="day"
        )

    answer = of_world(drawn[0], question)
    for row in (*answer["rows"], answer["totals"]):
        assert row["visitors"] <= row["sessions"] <= row["events"]
        assert row["pageviews"] + row["custom_events"] == row["events"]


@generated
@given(worlds(40), st.sampled_from(["hour", "day", "week", "month"]))
def test_additive_metrics_of_buckets_add_up_to_their_total(of_world, drawn, interval):
    metrics = Random(drawn[1].random()).sample(ADDITIVE, 5)
    answer = of_world(drawn[0], lambda asking: asking.query(metrics=metrics, interval=interval, limit=1000))
    for metric in metrics:
        total, values = answer["totals"][metric], [row[metric] for row in answer["rows"]]
        if total is None:
            assert None in values
        else:
            assert sum(value for value in values) == pytest.approx(total)


@generated
@given(worlds(40))
def test_a_metric_alone_in_pairs_and_in_bulk_has_one_value(of_world, drawn):
    first, second = drawn[1].sample(MEASURED, 2)

    async def question(asking):
        bulk = await asking.values(*drawn[1].sample(MEASURED, 48))
        pair, alone = await asking.values(first, second), await asking.values(first)
        queried = await asking.query(metrics=[first])
        return bulk, pair, alone, queried

    bulk, pair, alone, queried = of_world(drawn[0], question)
    assert {pair[first], alone[first], queried["totals"][first], bulk.get(first, alone[first])} == {
        alone[first]
    }
    assert pair[second] == bulk.get(second, pair[second])


@generated
@given(
    worlds(40), st.sampled_from(["visitors", "sessions", "events", "conversions"]), st.sampled_from(GROUPS)
)
def test_filtering_by_a_row_gives_the_value_of_the_row(of_world, drawn, metric, dimension):
    async def question(asking):
        rows = (await asking.query(metrics=[metric], dimensions=[dimension]))["rows"]
        row = drawn[1].choice(rows) if rows else None
        if row is None:
            return None
        return row, await asking.query(
            metrics=[metric], filters=[{"dimension": dimension, "value": row[dimension]}]
        )

    found = of_world(drawn[0], question)
    if found is not None:
        row, narrowed = found
        assert narrowed["totals"][metric] == row[metric]


@generated
@given(
    worlds(40),
    st.integers(1, 4),
    st.sampled_from(["events", "bounce_rate", "attributed_conversions", "visitors"]),
)
def test_pages_equal_one_large_page(of_world, drawn, limit, metric):
    async def question(asking):
        plan = {"metrics": [metric], "dimensions": ["utm_source", "channel"]}
        whole, pages, cursor = (await asking.query(**plan))["rows"], [], None
        while True:
            page = await asking.query(**plan, limit=limit, **({"cursor": cursor} if cursor else {}))
            pages += page["rows"]
            cursor = page["meta"]["next_cursor"]
            if cursor is None:
                return whole, pages

    whole, pages = of_world(drawn[0], question)
    assert pages == whole


@generated
@given(worlds(40))
def test_overview_traffic_and_queries_tell_the_same_numbers(of_world, drawn):
    async def question(asking):
        dates = [("start_date", asking.range["from"]), ("end_date", asking.range["to"])]
        overview = await get_overview(
            query_of(OverviewQuery, dates), who=asking.who, questions=asking.questions
        )
        traffic = await get_traffic(query_of(TrafficQuery, dates), who=asking.who, questions=asking.questions)
        names = ("visitors", "pageviews", "sessions", "custom_events")
        by_referrer = await asking.query(metrics=["visitors"], dimensions=["referrer_host"])
        return overview, traffic, await asking.values(*names), by_referrer

    overview, traffic, values, by_referrer = of_world(drawn[0], question)
    assert overview.visitors_total == values["visitors"]
    assert overview.pageviews_total == values["pageviews"]
    assert overview.sessions_total == values["sessions"]
    assert (
        overview.custom_events_total == values["custom_events"] == sum(overview.custom_event_counts.values())
    )
    assert [(row.name, row.count) for row in traffic.data] == [
        (row["referrer_host"], row["visitors"]) for row in by_referrer["rows"]
    ]
    assert traffic.total == sum(row.count for row in traffic.data)
    assert traffic.total == 0 or sum(row.percentage for row in traffic.data) == pytest.approx(100, abs=0.1)


@generated
@given(worlds(40), st.sampled_from(["UTC", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"]))
def test_changing_the_zone_keeps_totals_of_additive_metrics(of_world, drawn, zone):
    metrics = drawn[1].sample(ADDITIVE, 6)
    here = of_world(drawn[0], lambda asking: asking.values(*metrics))
    elsewhere = of_world(replace(drawn[0], zone=zone), lambda asking: asking.values(*metrics))
    assert here == elsewhere


@generated
@given(worlds(30))
def test_sending_the_same_events_twice_changes_nothing(of_world, drawn):
    async def twice(asking):
        await asking.store.append(drawn[0].story.events)
        return await asking.values(*MEASURED[:50])

    assert of_world(drawn[0], twice) == of_world(drawn[0], lambda asking: asking.values(*MEASURED[:50]))


@generated
@given(worlds(20))
def test_nothing_that_was_not_measured_is_zero(of_world, drawn):
    unmeasured = [metric.id for metric in METRICS if metric.id not in MEASURED]
    values = of_world(drawn[0], lambda asking: asking.values(*unmeasured))
    assert set(values.values()) == {None}


@generated
@given(worlds(30))
def test_answers_are_plain_json(of_world, drawn):
    metrics = drawn[1].sample(MEASURED, 3)
    answer = of_world(drawn[0], lambda asking: asking.query(metrics=metrics, interval="week"))
    assert json.loads(orjson.dumps(answer, default=plain))["columns"][0]["id"] == "bucket"
