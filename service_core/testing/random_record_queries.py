"""Random queries of paths and of the records behind numbers, with one function for each kind of query."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Final

from service_core.analytics.attribution_reads.ports import JourneysQuery
from service_core.analytics.cohorts.ports import AcquisitionValuesQuery, CohortReaderQuery
from service_core.analytics.experiments.ports import ExperimentReaderQuery
from service_core.analytics.funnels.ports import (
    FunnelReaderQuery,
    FunnelStartValuesQuery,
    FunnelStepUnitsQuery,
)
from service_core.analytics.measures import Column, Predicate, Relation, entry_column, property_column
from service_core.analytics.paths.ports import PathSessionsQuery, PathsQuery, PathStepCondition
from service_core.testing.random_datasets import RandomDataset
from service_core.testing.random_queries import (
    random_credit_rule,
    random_dimension_filter,
    random_event_or_session_filter,
    random_query_scope,
)


def random_funnel_units_query(random: Random, funnel: FunnelReaderQuery) -> FunnelStepUnitsQuery:
    """Returns a query of the units that reached a random step of a funnel, or that dropped out before it."""
    step = random.randrange(len(funnel.steps))
    return FunnelStepUnitsQuery(
        funnel,
        step,
        dropped=step > 0 and random.random() < 0.5,
        limit=random.choice((1, 3, 100)),
        offset=random.choice((0, 0, 1)),
    )


def random_paths_query(random: Random, dataset: RandomDataset) -> PathsQuery:
    """Returns a query of the paths before or after a page or an event of the dataset."""
    scope = random_query_scope(random, dataset)
    if random.random() < 0.3:
        scope = replace(scope, filters=(random_event_or_session_filter(random, dataset),))
    by_page = random.random() < 0.5
    column = "page_path" if by_page else "event_name"
    nodes = sorted({getattr(event, column) for event in dataset.builder.events} - {None}) or ["/"]
    return PathsQuery(
        scope=scope,
        by_page=by_page,
        start=frozenset(random.sample(nodes, min(len(nodes), random.choice((1, 1, 2))))),
        backward=random.random() < 0.5,
        step_count=random.randint(1, 5),
        through=tuple(random.choice(nodes) for _ in range(random.choice((0, 0, 1)))),
    )


def random_path_sessions_query(random: Random, paths: PathsQuery, nodes: Sequence[str]) -> PathSessionsQuery:
    """Returns a query of the sessions of paths at a random step, with a node, other nodes or no such step."""
    step = random.randint(0, paths.step_count)
    condition = PathStepCondition(
        step,
        node=random.choice((None, *nodes)),
        other_than=random.choice((frozenset(), frozenset(nodes[:1]))),
        is_end=random.random() < 0.3,
    )
    return PathSessionsQuery(paths, condition, random.choice((1, 3, 100)), random.choice((0, 0, 1)))


def random_journeys_query(random: Random, dataset: RandomDataset) -> JourneysQuery:
    """Returns a query of the journeys behind credits: of all, of those without a touch, or of a group of touches."""
    attributed = Predicate("attributed", value=random.random() < 0.8)
    group = (random_dimension_filter(random, dataset, Relation.CREDITS),) if random.random() < 0.5 else ()
    return JourneysQuery(
        random_query_scope(random, dataset, filters=(attributed, *group)),
        random_credit_rule(random),
        limit=random.choice((1, 3, 100)),
        offset=random.choice((0, 0, 1)),
    )


_EVENT_COLUMNS: Final = (
    *map(Column, ("event_name", "page_path", "country", "is_bot", "exit_page")),
    *map(entry_column, ("channel", "utm_source")),
    property_column("plan"),
)
_TOUCH_COLUMNS: Final = tuple(map(Column, ("channel", "attribution_source", "utm_campaign")))


def random_start_values_query(random: Random, funnel: FunnelReaderQuery) -> FunnelStartValuesQuery:
    """Returns a query of the values of a random column among the events that start a funnel."""
    return FunnelStartValuesQuery(funnel, random.choice(_EVENT_COLUMNS), random.choice((1, 2, 20)))


def random_acquisition_values_query(random: Random, cohorts: CohortReaderQuery) -> AcquisitionValuesQuery:
    """Returns a query of the values of a random column among the events, or first touches, that acquired persons."""
    of_touch = random.random() < 0.4
    column = random.choice(_TOUCH_COLUMNS if of_touch else _EVENT_COLUMNS)
    return AcquisitionValuesQuery(cohorts, column, of_touch, random.choice((1, 2, 20)))


def random_experiment_query(random: Random, dataset: RandomDataset) -> ExperimentReaderQuery:
    """Returns a query of an experiment whose variants are plans, countries or devices."""
    variants = (property_column("plan"), Column("country"), Column("device_type"))
    narrowing = (random_event_or_session_filter(random, dataset),) if random.random() < 0.3 else ()
    return ExperimentReaderQuery(
        scope=random_query_scope(random, dataset),
        exposure_names=frozenset(random.choice((("page_view",), ("page_view", "lead"), ("add_to_cart",)))),
        exposure_conditions=narrowing,
        variant_column=random.choice(variants),
        window=timedelta(hours=random.choice((1, 24, 24 * 14))),
        now=dataset.start + timedelta(days=random.choice((2, 60))),
        goal_names=random.choice((None, None, frozenset({"purchase"}), frozenset({"page_view", "lead"}))),
    )
