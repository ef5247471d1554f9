"""Random queries about a random dataset, with one function for each kind of query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

from service_core.analytics.attribution.schemas import GROUPINGS
from service_core.analytics.cohorts.ports import CohortReaderQuery
from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET
from service_core.analytics.event_rules.order_deduplication import CHARGE_COLUMNS
from service_core.analytics.event_rules.visits import IS_VISIT_EVENT
from service_core.analytics.funnels.ports import FunnelOrder, FunnelReaderQuery
from service_core.analytics.measures import (
    Aggregation,
    Column,
    ColumnOwner,
    Condition,
    Difference,
    FilterOperator,
    Measure,
    NotAll,
    Operand,
    Predicate,
    Ratio,
    Relation,
    count_distinct,
    count_rows,
    entry_column,
    property_column,
    property_label_column,
    sum_column,
    touch_column,
)
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.people.ports import PeoplePageQuery, PersonActivityQuery
from service_core.analytics.ports import (
    AggregateQuery,
    ColumnSort,
    CreditRule,
    EventPageQuery,
    QueryScope,
    TouchPathQuery,
    Weighting,
)
from service_core.analytics.query.relation_columns import EVENT_STORE_COLUMNS, RELATIONS_WITH_PROPERTIES
from service_core.commerce.ads.match_ads import MATCHED_UTM_COLUMNS
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit, TimeRange
from service_core.testing.event_builder import conversion_set
from service_core.testing.random_datasets import DAYS, RandomDataset

_EVENTS, _SESSIONS, _CONVERSIONS = Relation.EVENTS, Relation.SESSIONS, Relation.CONVERSIONS
_CHARGE: Final = Predicate("kind", value="charge")
AGGREGATIONS_BY_RELATION: Final[Mapping[Relation, Sequence[Aggregation]]] = {
    _EVENTS: (
        count_rows(_EVENTS),
        *(count_distinct(column, _EVENTS) for column in ("visitor_id", "person", "session", "page_path")),
        *(count_distinct(column, _EVENTS, IS_VISIT_EVENT) for column in ("visitor_id", "session")),
        count_distinct("person", _EVENTS, Predicate("identified", value=True)),
        count_rows(
            _EVENTS, Predicate("event_name", FilterOperator.IN, ("page_view", "pageview", "$pageview"))
        ),
        count_rows(_EVENTS, Predicate(property_column("plan"), FilterOperator.EQ, "pro")),
        count_rows(_EVENTS, Predicate(property_column("price"), FilterOperator.GTE, 6)),
        count_rows(_EVENTS, Predicate(property_column("n.of"), FilterOperator.IS_SET)),
        sum_column("revenue", _EVENTS, Predicate("revenue", FilterOperator.BETWEEN, (0, 1000))),
        *(Aggregation(_EVENTS, Column("person"), distinct=True, trailing_days=n) for n in (1, 7, 30)),
    ),
    _SESSIONS: (
        count_rows(_SESSIONS),
        count_distinct("visitor_id", _SESSIONS),
        *(
            sum_column(column, _SESSIONS)
            for column in (
                "pageviews",
                "events",
                "duration",
                "bounced",
                "engaged",
                "has_cart",
                "has_purchase",
            )
        ),
        sum_column("duration", _SESSIONS, Predicate("pageviews", FilterOperator.GTE, 1)),
    ),
    _CONVERSIONS: (
        count_rows(_CONVERSIONS),
        count_distinct("person", _CONVERSIONS),
        count_rows(_CONVERSIONS, Predicate("event_name", value="purchase")),
    ),
    Relation.PAYMENTS: (
        count_rows(Relation.PAYMENTS, _CHARGE),
        sum_column("amount", Relation.PAYMENTS, _CHARGE, Predicate("currency", value="USD")),
        sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund")),
        sum_column("first_order", Relation.PAYMENTS),
        sum_column("orders_so_far", Relation.PAYMENTS),
        sum_column("microseconds_to_second_order", Relation.PAYMENTS),
        count_distinct("person", Relation.PAYMENTS, Predicate("orders_so_far", FilterOperator.GTE, 2)),
        count_distinct("person", Relation.PAYMENTS, _CHARGE),
        count_distinct("order_id", Relation.PAYMENTS),
        *(sum_column(part, Relation.PAYMENTS, Predicate("currency", value="USD")) for part in CHARGE_COLUMNS),
        *(
            count_rows(Relation.PAYMENTS, _CHARGE, Predicate(part, FilterOperator.IS_NOT_SET))
            for part in CHARGE_COLUMNS
        ),
    ),
    Relation.CREDITS: (
        *(
            sum_column(column, Relation.CREDITS)
            for column in ("credit", "order_credit", "amount", "refunded")
        ),
        sum_column("credit", Relation.CREDITS, Predicate("attributed", value=True)),
        sum_column("credit", Relation.CREDITS, Predicate("is_order", value=True)),
        sum_column("credit", Relation.CREDITS, Predicate("first_order", value=True)),
        count_rows(Relation.CREDITS),
    ),
}
_DIMENSION_COLUMNS: Final = tuple(
    own
    for dimension in CORE_DIMENSIONS
    if (
        own := {
            str(of): c
            for of, c in dimension.columns.items()
            if of in AGGREGATIONS_BY_RELATION and c.owner is not ColumnOwner.AD
        }
    )
)
_PROPERTY_DIMENSIONS: Final = tuple(
    {str(relation): property_label_column(path) for relation in RELATIONS_WITH_PROPERTIES}
    for path in ("plan", "n.of", "coupon")
)
_COALESCED: Final = {
    _EVENTS: entry_column("utm_source").or_else(entry_column("attribution_source")),
    Relation.CREDITS: touch_column("utm_source").or_else(touch_column("attribution_source")),
}
_TEXT_OPS: Final = tuple(op for op in FilterOperator if op is not FilterOperator.BETWEEN)
_EQUALITY_OPERATORS: Final = (FilterOperator.EQ, FilterOperator.NEQ)
_FUNNEL_STEPS: Final = (
    frozenset({"page_view", "pageview", "$pageview"}),
    frozenset({"click"}),
    frozenset({"purchase", "order_paid"}),
    frozenset({"$identify"}),
    frozenset({"webinar"}),
)


def random_query_scope(random: Random, dataset: RandomDataset, **overrides: Any) -> QueryScope:
    """Returns a scope of some days of the dataset, at times not whole days, with random conversions and switches."""
    first, last = sorted(random.sample(range(-1, DAYS + 2), 2))
    hours = random.choice((0, 0, 5, 13))
    span = TimeRange(dataset.start + timedelta(days=first, hours=hours), dataset.start + timedelta(days=last))
    conversions = random.choice(
        (DEFAULT_CONVERSION_SET, DEFAULT_CONVERSION_SET, conversion_set(["webinar", "$identify"]))
    )
    defaults = {
        "zone": dataset.timezone,
        "conversions": conversions,
        "include_bots": random.random() < 0.2,
        "order_refunds": random.random() < 0.3,
    }
    return dataset.builder.query_scope(span, **defaults | overrides)


def random_aggregate_query(random: Random, dataset: RandomDataset) -> AggregateQuery:
    """Returns a query of measures of one to three relations by up to three dimensions, with or without buckets."""
    relations = random.sample(list(AGGREGATIONS_BY_RELATION), random.choice((1, 1, 2, 3)))
    aggregations = [
        _sometimes_add_dimension_filter(
            random, dataset, random.choice(AGGREGATIONS_BY_RELATION[random.choice(relations)])
        )
        for _ in range(3)
    ]
    dimensions = tuple(random.sample(_DIMENSION_COLUMNS, random.choice((0, 1, 1, 2, 3))))
    if random.random() < 0.2:
        dimensions = (*dimensions[:2], random.choice(_PROPERTY_DIMENSIONS))
    if random.random() < 0.1:
        dimensions = (*dimensions[:2], {str(relation): column for relation, column in _COALESCED.items()})
    scope = random_query_scope(random, dataset)
    buckets = None
    if random.random() < 0.5:
        unit = random.choice(
            (BucketUnit.HOUR, BucketUnit.DAY, BucketUnit.DAY, BucketUnit.WEEK, BucketUnit.MONTH)
        )
        buckets = buckets_covering(scope.span, unit, ZoneInfo(dataset.timezone))
    relations_used = {aggregation.relation for aggregation in aggregations}
    if len(relations_used) == 1 and random.random() < 0.3:
        scope = replace(scope, filters=(random_dimension_filter(random, dataset, aggregations[0].relation),))
    measures = _random_measures_from_three_aggregations(random, aggregations)
    return AggregateQuery(
        scope=scope,
        measures=measures,
        dimensions=dimensions,
        buckets=buckets,
        order=_random_sort_of_up_to_two_columns(
            random, len(measures), len(dimensions), bucketed=buckets is not None
        ),
        limit=random.choice((None, None, 1, 3)),
        offset=random.choice((0, 0, 0, 2)),
        credit=random_credit_rule(random) if Relation.CREDITS in relations_used else None,
    )


def query_counting_rows_per_set_column(
    random: Random, dataset: RandomDataset, relation: Relation
) -> AggregateQuery:
    """Returns a query that counts, for each column of a relation, the rows in which it is set."""
    measures = tuple(
        count_rows(relation, Predicate(column, FilterOperator.IS_SET))
        for column in sorted(EVENT_STORE_COLUMNS[relation], key=str)
    )
    credit = random_credit_rule(random) if relation is Relation.CREDITS else None
    return AggregateQuery(random_query_scope(random, dataset), measures, credit=credit)


def query_of_credits_by_ad_columns(random: Random, dataset: RandomDataset) -> AggregateQuery:
    """Returns a query of credits by channel, new persons and the columns that identify an ad."""
    columns = (
        touch_column("channel"),
        Column("person_is_new"),
        *map(touch_column, MATCHED_UTM_COLUMNS),
    )
    dimensions = tuple({str(Relation.CREDITS): column} for column in columns)
    measures = tuple(sum_column(column, Relation.CREDITS) for column in ("credit", "amount"))
    return AggregateQuery(
        random_query_scope(random, dataset), measures, dimensions, credit=random_credit_rule(random)
    )


def random_people_page_query(random: Random, dataset: RandomDataset) -> PeoplePageQuery:
    """Returns a query of a people page, in 30 % of the calls searched and filtered."""
    is_filtered = random.random() < 0.3
    scope = random_query_scope(random, dataset)
    if random.random() < 0.3:
        scope = replace(scope, filters=(random_event_or_session_filter(random, dataset),))
    return PeoplePageQuery(
        scope=scope,
        limit=random.choice((1, 3, 50)),
        offset=random.choice((0, 0, 2)),
        sort=random.choice(("last_seen", "first_seen", "revenue", "events")),
        search=random.choice((None, "a", "U1", "ADA@")) if is_filtered else None,
        identified=random.choice((None, None, True, False)),
        utm_source=random.choice((None, "google")) if is_filtered else None,
        country=random.choice((None, "DE")) if is_filtered else None,
    )


def random_person_activity_query(random: Random, dataset: RandomDataset, person: str) -> PersonActivityQuery:
    """Returns a query of a person's activity, limited to 1, 2 or 200 items."""
    window = timedelta(days=random.choice((1, 4, 30)))
    return PersonActivityQuery(
        random_query_scope(random, dataset), person, window, random.choice((1, 2, 200))
    )


def random_event_page_query(random: Random, dataset: RandomDataset) -> EventPageQuery:
    """Returns a query of an event page by offset or after an event, with or without filter and total."""
    scope = random_query_scope(random, dataset)
    if random.random() < 0.5:
        scope = replace(scope, filters=(random_event_or_session_filter(random, dataset),))
    previous = (
        random.choice(dataset.builder.events) if dataset.builder.events and random.random() < 0.3 else None
    )
    after = (previous.timestamp, previous.seq) if previous else None
    total = random.random() < 0.7
    return EventPageQuery(scope, random.choice((1, 5, 100)), random.choice((0, 0, 3)), total, after)


def random_cohort_query(random: Random, dataset: RandomDataset) -> CohortReaderQuery:
    """Returns a query of cohorts by day, week or month, with or without a first-touch filter."""
    scope, unit = (
        random_query_scope(random, dataset),
        random.choice((BucketUnit.DAY, BucketUnit.WEEK, BucketUnit.MONTH)),
    )
    acquisition = buckets_covering(scope.span, unit, ZoneInfo(dataset.timezone))
    later = TimeRange(acquisition.starts[0], dataset.start + timedelta(days=DAYS + 3))
    first = (_random_touch_filter(random),) if random.random() < 0.3 else ()
    acquiring = (random_event_or_session_filter(random, dataset),) if random.random() < 0.3 else ()
    active = (random_event_or_session_filter(random, dataset),) if random.random() < 0.3 else ()
    return CohortReaderQuery(
        scope=scope,
        acquisition=acquisition,
        activity=buckets_covering(later, unit, ZoneInfo(dataset.timezone)),
        by_conversion=random.random() < 0.4,
        event_names=random.choice((None, None, frozenset({"page_view", "purchase"}))),
        acquisition_filters=acquiring,
        activity_filters=active,
        first_touch_filters=first,
    )


def random_funnel_query(random: Random, dataset: RandomDataset) -> FunnelReaderQuery:
    """Returns a query of a funnel of two to five steps, which may repeat."""
    scope = random_query_scope(random, dataset)
    if random.random() < 0.3:
        scope = replace(scope, filters=(random_event_or_session_filter(random, dataset),))
    steps = tuple(random.choice(_FUNNEL_STEPS) for _ in range(random.randint(2, 5)))
    conditions = tuple(_random_step_conditions(random, dataset) for _ in steps)
    return FunnelReaderQuery(
        scope=scope,
        steps=steps,
        step_conditions=conditions if random.random() < 0.4 else (),
        window=timedelta(days=random.choice((1, 3, 14))),
        now=dataset.start + timedelta(days=random.choice((4, DAYS, 60))),
        order=random.choice(list(FunnelOrder)),
        by_session=random.random() < 0.3,
        exclude=random.choice((None, None, frozenset({"scroll"}), frozenset({"lead", "refund"}))),
    )


def _random_step_conditions(random: Random, dataset: RandomDataset) -> tuple[Predicate, ...]:
    """Returns no condition of a step more often than not, else one on the event, its session or a property."""
    if random.random() < 0.6:
        return ()
    if random.random() < 0.3:
        return (Predicate(property_column("plan"), FilterOperator.EQ, "pro"),)
    return (random_event_or_session_filter(random, dataset),)


def random_touch_path_query(random: Random, dataset: RandomDataset) -> TouchPathQuery:
    """Returns a query of touch paths by channel or by the columns of a campaign."""
    keys = ((touch_column("channel"),), GROUPINGS["campaign"].touch_columns)
    names = random.choice((None, None, frozenset({"purchase"})))
    return TouchPathQuery(
        random_query_scope(random, dataset),
        timedelta(days=random.choice((1, 5, 30))),
        random.choice(keys),
        names,
    )


def random_credit_rule(random: Random) -> CreditRule:
    """Returns a rule of any weighting and of several windows."""
    return CreditRule(
        weighting=random.choice(list(Weighting)),
        window=timedelta(days=random.choice((1, 4, 30))),
        ignore_direct=random.random() < 0.5,
        book_at_touch=random.random() < 0.3,
        event_names=random.choice((None, None, None, frozenset({"purchase", "signup"}))),
    )


def _sometimes_add_dimension_filter(
    random: Random, dataset: RandomDataset, aggregation: Aggregation
) -> Aggregation:
    return (
        aggregation.with_conditions(random_dimension_filter(random, dataset, aggregation.relation))
        if random.random() < 0.3
        else aggregation
    )


def random_dimension_filter(random: Random, dataset: RandomDataset, relation: Relation) -> Condition:
    """Returns a filter by a random dimension of a relation, or the rows outside of a group of several dimensions."""
    columns = [s[relation] for s in _DIMENSION_COLUMNS if relation in s]
    if random.random() < 0.3:
        group = random.sample(columns, random.choice((2, 3)))
        return NotAll(tuple(_random_filter_by_existing_value(random, dataset, column) for column in group))
    return _random_filter_by_existing_value(random, dataset, random.choice(columns))


def _random_event_filter(random: Random, dataset: RandomDataset) -> Predicate:
    """Returns a filter by a random column of the event itself, with a value of the dataset."""
    return _random_filter_by_existing_value(
        random, dataset, Column(random.choice(("event_name", "page_path", "country", "strong_id")))
    )


def random_event_or_session_filter(random: Random, dataset: RandomDataset) -> Predicate:
    """Returns a filter by a column of the event itself, or by one of its session, as segments have."""
    if random.random() < 0.5:
        return _random_event_filter(random, dataset)
    columns = (*map(entry_column, ("country", "device_type", "hostname")), Column("exit_page"))
    return _random_filter_by_existing_value(random, dataset, random.choice(columns))


def _random_filter_by_existing_value(random: Random, dataset: RandomDataset, column: Column) -> Predicate:
    """Returns a filter by a column with a value of the dataset; columns of truth values get one of these."""
    name = column.name
    if name.endswith("_is_new") or name == "is_bot":
        return Predicate(column, random.choice(_EQUALITY_OPERATORS), random.random() < 0.5)
    event_column = "page_path" if name == "exit_page" else name
    values = {value for event in dataset.builder.events if (value := getattr(event, event_column, None))}
    return _random_filter_of_any_text_operator(random, column, sorted(values) or ["none"])


def _random_touch_filter(random: Random) -> Predicate:
    return _random_filter_of_any_text_operator(
        random, Column(random.choice(("channel", "utm_source", "country"))), ["google", "direct", "DE"]
    )


def _random_filter_of_any_text_operator(random: Random, column: Column, values: Sequence[str]) -> Predicate:
    """Returns a filter with any operator but `BETWEEN`, with operands from the values or parts of them."""
    op, value = random.choice(_TEXT_OPS), random.choice(values)
    operand: Operand = value
    if op in {FilterOperator.IN, FilterOperator.NOT_IN}:
        operand = (value, random.choice(values), "nobody")
    elif op in {
        FilterOperator.CONTAINS,
        FilterOperator.NOT_CONTAINS,
        FilterOperator.STARTS_WITH,
        FilterOperator.ENDS_WITH,
    }:
        operand = random.choice((value[:2].upper(), value[-2:].lower(), "%", "_"))
    elif op in {FilterOperator.IS_SET, FilterOperator.IS_NOT_SET}:
        operand = None
    return Predicate(column, op, operand)


def _random_measures_from_three_aggregations(
    random: Random, aggregations: Sequence[Aggregation]
) -> tuple[Measure, ...]:
    """Returns one or all of three aggregations, or ratios and a difference of them."""
    first, second, third = aggregations
    return random.choice(
        (
            (first,),
            (first, second, third),
            (Ratio(first, second), third),
            (Difference(first, second), Ratio(second, third, complement=True)),
        )
    )


def _random_sort_of_up_to_two_columns(
    random: Random, measure_count: int, dimension_count: int, *, bucketed: bool
) -> tuple[ColumnSort, ...]:
    """Returns up to two sorts by different measures, dimensions or, when bucketed, the bucket."""
    keys = [
        *(f"m{i}" for i in range(measure_count)),
        *(f"d{i}" for i in range(dimension_count)),
        *["bucket"][:bucketed],
    ]
    chosen = random.sample(keys, min(len(keys), random.choice((0, 1, 2))))
    return tuple(ColumnSort(key, descending=random.random() < 0.5) for key in chosen)
