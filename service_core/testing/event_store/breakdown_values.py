"""Conformance tests of the values by which funnels and cohorts are broken down."""

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

from service_core.analytics.cohorts.ports import AcquisitionValuesQuery, CohortReaderQuery
from service_core.analytics.funnels.ports import FunnelOrder, FunnelReaderQuery, FunnelStartValuesQuery
from service_core.analytics.measures import Column, FilterOperator, Predicate, property_column
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.testing.event_builder import EventBuilder, campaign_columns, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import EventStoreKit, Store

SPAN = whole_utc_days("2026-03-02", "2026-03-15")


def funnel_query(builder: EventBuilder) -> FunnelReaderQuery:
    """Returns a query of the funnel A, B in March."""
    steps = (frozenset({"A"}), frozenset({"B"}))
    return FunnelReaderQuery(builder.query_scope(SPAN), steps, timedelta(days=14), utc_instant("2026-06-01"))


def cohort_query(builder: EventBuilder) -> CohortReaderQuery:
    """Returns a query of weekly cohorts in March."""
    weeks = buckets_covering(SPAN, BucketUnit.WEEK, ZoneInfo("UTC"))
    return CohortReaderQuery(builder.query_scope(SPAN), weeks, weeks)


class BreakdownValues(EventStoreKit):
    """Tests of `list_start_values` and `list_acquisition_values`."""

    async def test_start_values_count_units_by_each_value_they_start_with(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A person counts once for each value; absent values are last, and equals are in order of code points."""
        for visitor, plan in (("A1", "pro"), ("A1", "pro"), ("A1", "basic"), ("A2", "pro"), ("A3", None)):
            data = {} if plan is None else {"plan": plan}
            builder.add_event("A", at="2026-03-03", visitor=visitor, event_data=data)
        builder.add_event("A", at="2026-03-03", visitor="A4", event_data={"plan": 7})
        builder.add_event("A", at="2026-03-03", visitor="A5", event_data={"plan": ["list"]})
        builder.add_event("B", at="2026-03-03", visitor="A6", event_data={"plan": "late"})
        builder.add_event("A", at="2026-03-20", visitor="A7", event_data={"plan": "outside"})
        await store.append(builder.events)
        query = FunnelStartValuesQuery(funnel_query(builder), property_column("plan"), 10)
        values = [(entry.value, entry.count) for entry in await store.list_start_values(query)]
        assert values == [("pro", 2), ("7", 1), ("basic", 1), (None, 1)]
        assert len(await store.list_start_values(replace(query, limit=1))) == 1
        any_order = replace(query, funnel=replace(query.funnel, order=FunnelOrder.ANY))
        assert "late" in {entry.value for entry in await store.list_start_values(any_order)}

    async def test_start_values_follow_the_filters_of_the_funnel(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The filters of the scope, the conditions of the step and the unit apply to the values."""
        for visitor, session, country in (("A1", "s1", "DE"), ("A1", "s2", "DE"), ("A2", "s3", "FR")):
            builder.add_event("A", at="2026-03-03", visitor=visitor, session=session, country=country)
        await store.append(builder.events)
        by_country = FunnelStartValuesQuery(funnel_query(builder), Column("country"), 10)
        counts = {entry.value: entry.count for entry in await store.list_start_values(by_country)}
        assert counts == {"DE": 1, "FR": 1}
        by_session = replace(by_country, funnel=replace(by_country.funnel, by_session=True))
        counts = {entry.value: entry.count for entry in await store.list_start_values(by_session)}
        assert counts == {"DE": 2, "FR": 1}
        german = (Predicate("country", value="DE"),)
        scope = replace(by_country.funnel.scope, filters=german)
        for funnel in (
            replace(by_country.funnel, scope=scope),
            replace(by_country.funnel, step_conditions=(german, ())),
        ):
            entries = await store.list_start_values(replace(by_country, funnel=funnel))
            assert [(entry.value, entry.count) for entry in entries] == [("DE", 1)]

    async def test_acquisition_values_are_those_of_the_first_event_or_touch(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Later events and touches do not count, nor do persons acquired outside the range."""
        for visitor, first, then in (
            ("A1", "google", "bing"),
            ("A2", "google", "google"),
            ("A3", "", "bing"),
        ):
            for day, source in ((3, first), (5, then)):
                at = f"2026-03-0{day}"
                columns = campaign_columns(source, "cpc") if source else {}
                page = f"/{source or 'direct'}"
                builder.add_event("page_view", at=at, visitor=visitor, session=at, page_path=page, **columns)
        builder.add_event("page_view", at="2026-02-03", visitor="A4", page_path="/old")
        builder.add_event("page_view", at="2026-03-03", visitor="A4", page_path="/old")
        await store.append(builder.events)
        cohorts = cohort_query(builder)
        for column, of_touch, expected in (
            ("page_path", False, [("/google", 2), ("/direct", 1)]),
            ("utm_source", True, [("google", 2), (None, 1)]),
        ):
            query = AcquisitionValuesQuery(cohorts, Column(column), of_touch, 10)
            entries = await store.list_acquisition_values(query)
            assert [(entry.value, entry.count) for entry in entries] == expected
            tagged = replace(cohorts, first_touch_filters=(Predicate("utm_source", value="google"),))
            entries = await store.list_acquisition_values(replace(query, cohorts=tagged))
            assert [(entry.value, entry.count) for entry in entries] == expected[:1]

    async def test_activity_filters_restrict_the_events_that_make_a_person_active(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """With or without event names, only events that meet the filters count as activity."""
        for day, path in (("03", "/shop"), ("10", "/blog")):
            builder.add_event("page_view", at=f"2026-03-{day}", visitor="A1", page_path=path, session=day)
            builder.add_event("page_view", at=f"2026-03-{day}", visitor="A2", page_path="/shop", session=day)
        await store.append(builder.events)
        shop = (Predicate("page_path", FilterOperator.EQ, "/shop"),)
        for names in (None, frozenset({"page_view"})):
            query = replace(cohort_query(builder), activity_filters=shop, event_names=names)
            table = await store.read_cohorts(query)
            assert [(cell.bucket, cell.active) for cell in table.cells] == [(0, 2), (1, 1)]
