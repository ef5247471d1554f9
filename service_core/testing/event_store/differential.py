"""Conformance tests that compare a store with the reference store on random datasets and queries."""

import math
import os
from collections.abc import Callable
from dataclasses import fields
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings

from service_core.analytics.cohorts.ports import CohortResult
from service_core.analytics.funnels.ports import FunnelResult, FunnelStep
from service_core.analytics.ports import AggregateResult, TouchPath
from service_core.analytics.query.relation_columns import EVENT_STORE_COLUMNS
from service_core.testing import random_queries, random_record_queries
from service_core.testing.event_store.kit import EventStoreKit, Store
from service_core.testing.random_datasets import RandomDataset, random_datasets

EXAMPLES = int(os.environ.get("TOUCHPOINT_EXAMPLES", "5"))
"""Random datasets per test; the nightly run sets more."""

QUERIES_PER_DATASET = 4
"""Random queries per dataset."""

on_random_datasets = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    # Each example has a new workspace, so examples may share a store, and classes a test.
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.differing_executors,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


async def append_dataset_in_random_batches(dataset: RandomDataset, random: Random, *stores: Store) -> None:
    """Appends all events of a dataset to each store, in two batches cut at a random place per store."""
    events = dataset.builder.events
    for store in stores:
        cut = random.randint(0, len(events))
        for batch in (events[:cut], events[cut:]):
            await store.append(batch)


async def assert_same_answer_as_reference(
    store: Store,
    oracle: Store,
    method_name: str,
    *plan: Any,
    normalize: Callable[[Any], Any] = lambda answer: answer,
) -> None:
    """Asserts that a method returns equal answers from both stores; the message has its arguments and both answers.

    Args:
        store: the store under test.
        oracle: the reference store.
        method_name: name of a port's method.
        plan: the arguments of the method.
        normalize: applied to both answers before the comparison, for answers in no defined order.
    """
    answer, expected = (
        normalize(await getattr(store, method_name)(*plan)),
        normalize(await getattr(oracle, method_name)(*plan)),
    )
    assert approximately_equal(answer, expected), (
        f"{method_name} {plan}\n\nanswers  {answer}\n\nexpected {expected}"
    )


def approximately_equal(answer: Any, expected: Any) -> bool:
    """Returns whether two answers are equal; floats may differ by a relative 1e-9 or an absolute 1e-6."""
    if isinstance(expected, float) and isinstance(answer, int | float):
        return math.isclose(answer, expected, rel_tol=1e-9, abs_tol=1e-6)
    if isinstance(expected, list | tuple) and isinstance(answer, list | tuple):
        return len(answer) == len(expected) and all(map(approximately_equal, answer, expected))
    if isinstance(expected, AggregateResult | FunnelResult | FunnelStep) and type(answer) is type(expected):
        return all(
            approximately_equal(getattr(answer, f.name), getattr(expected, f.name)) for f in fields(expected)
        )
    return bool(answer == expected)


def sizes_and_non_empty_cells(cohort_result: CohortResult) -> object:
    """Returns the sizes and the sorted cells with activity, revenue or foreign money of a cohort result."""
    non_empty = [cell for cell in cohort_result.cells if cell.active or cell.revenue or cell.foreign_money]
    return dict(cohort_result.sizes), sorted(non_empty, key=lambda cell: (cell.cohort, cell.bucket))


def counts_by_path(touch_paths: list[TouchPath]) -> object:
    """Returns counts and money by the keys of a path."""
    return {
        path.keys: (path.converted, path.unconverted, path.amount, path.refunded, path.orders)
        for path in touch_paths
    }


class ReferenceComparison(EventStoreKit):
    """Tests that compare the store with the reference store on random datasets."""

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_random_aggregates_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Random aggregates over random datasets equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(3 * QUERIES_PER_DATASET):
            await assert_same_answer_as_reference(
                store, oracle, "aggregate", random_queries.random_aggregate_query(random, dataset)
            )

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_set_counts_of_every_relation_column_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """For each relation, the number of rows that set each column equals that of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for relation in EVENT_STORE_COLUMNS:
            await assert_same_answer_as_reference(
                store,
                oracle,
                "aggregate",
                random_queries.query_counting_rows_per_set_column(random, dataset, relation),
            )

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_credits_by_ad_columns_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Credits grouped by the columns that identify an ad equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        await assert_same_answer_as_reference(
            store, oracle, "aggregate", random_queries.query_of_credits_by_ad_columns(random, dataset)
        )

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_event_pages_names_properties_and_active_visitors_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Event pages, event names, custom properties and active visitors equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(QUERIES_PER_DATASET):
            await assert_same_answer_as_reference(
                store, oracle, "list_events", random_queries.random_event_page_query(random, dataset)
            )
            scope = random_queries.random_query_scope(random, dataset)
            await assert_same_answer_as_reference(store, oracle, "list_event_names", scope)
            await assert_same_answer_as_reference(store, oracle, "list_custom_properties_by_event", scope, 2)
            await assert_same_answer_as_reference(
                store, oracle, "list_visitors_with_recently_received_events", scope, scope.span.start, 3
            )

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_people_equal_the_reference_store_before_and_after_link_revocations(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """People, their events, touches and activity equal those of the reference store, also after identity links are revoked."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        await self.assert_same_people_and_activity(store, oracle, dataset, random)
        for event in random.sample(dataset.builder.events, min(2, len(dataset.builder.events))):
            for each_store in (store, oracle):
                await each_store.revoke_identity_link(dataset.builder.workspace_id, event.event_id)
        await self.assert_same_people_and_activity(store, oracle, dataset, random)

    async def assert_same_people_and_activity(
        self, store: Store, oracle: Store, dataset: RandomDataset, random: Random
    ) -> None:
        """Asserts that both stores give the same people pages, conflicts, touches, events and activity."""
        workspace = dataset.builder.workspace_id
        for _ in range(QUERIES_PER_DATASET):
            await assert_same_answer_as_reference(
                store,
                oracle,
                "list_people_and_total",
                random_queries.random_people_page_query(random, dataset),
            )
        await assert_same_answer_as_reference(
            store, oracle, "list_external_id_conflicts_and_total", workspace, random.choice((1, 9))
        )
        scope, ids = random_queries.random_query_scope(random, dataset), ("A1", "A4", "U1", "U2", "nobody")
        await assert_same_answer_as_reference(store, oracle, "first_touches_of_seen_ids", workspace, ids)
        for any_id in ids:
            await assert_same_answer_as_reference(store, oracle, "find_person_of_any_id", workspace, any_id)
            person = await oracle.find_person_of_any_id(workspace, any_id)
            if person:
                await assert_same_answer_as_reference(
                    store, oracle, "list_latest_person_events", scope, person
                )
                await assert_same_answer_as_reference(
                    store, oracle, "list_latest_person_touches", scope, person
                )
                await assert_same_answer_as_reference(
                    store, oracle, "list_latest_person_events", scope, person, 2
                )
                await assert_same_answer_as_reference(
                    store, oracle, "list_latest_person_touches", scope, person, 2
                )
                await assert_same_answer_as_reference(
                    store,
                    oracle,
                    "read_activity",
                    random_queries.random_person_activity_query(random, dataset, person),
                )

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_random_cohorts_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Random cohort tables, and values of acquisitions, equal those of the reference store; empty cells are ignored."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(QUERIES_PER_DATASET):
            query = random_queries.random_cohort_query(random, dataset)
            await assert_same_answer_as_reference(
                store, oracle, "read_cohorts", query, normalize=sizes_and_non_empty_cells
            )
            values = random_record_queries.random_acquisition_values_query(random, query)
            await assert_same_answer_as_reference(store, oracle, "list_acquisition_values", values)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_random_funnels_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Random funnels, the units of their steps and the values of their starts equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(2 * QUERIES_PER_DATASET):
            query = random_queries.random_funnel_query(random, dataset)
            await assert_same_answer_as_reference(store, oracle, "read_funnel", query)
            units = random_record_queries.random_funnel_units_query(random, query)
            await assert_same_answer_as_reference(store, oracle, "list_units_of_step_and_total", units)
            starts = random_record_queries.random_start_values_query(random, query)
            await assert_same_answer_as_reference(store, oracle, "list_start_values", starts)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_random_experiments_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Random experiments equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(2 * QUERIES_PER_DATASET):
            query = random_record_queries.random_experiment_query(random, dataset)
            await assert_same_answer_as_reference(store, oracle, "read_experiment", query, 3)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_random_journeys_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Random pages of journeys, and the sums of their credit, equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(2 * QUERIES_PER_DATASET):
            query = random_record_queries.random_journeys_query(random, dataset)
            await assert_same_answer_as_reference(store, oracle, "list_journeys", query)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_random_session_paths_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Random paths by session, and pages of their sessions, equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(2 * QUERIES_PER_DATASET):
            query = random_record_queries.random_paths_query(random, dataset)
            await assert_same_answer_as_reference(store, oracle, "read_paths", query, random.choice((1, 3)))
            found = await oracle.read_paths(query, 3)
            nodes = [node for step in found.steps for node, _ in step.nodes]
            sessions = random_record_queries.random_path_sessions_query(random, query, nodes)
            await assert_same_answer_as_reference(store, oracle, "list_path_sessions", sessions)

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_random_touch_paths_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """Random touch paths equal those of the reference store in any order."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for _ in range(QUERIES_PER_DATASET):
            await assert_same_answer_as_reference(
                store,
                oracle,
                "list_distinct_touch_paths_with_counts",
                random_queries.random_touch_path_query(random, dataset),
                normalize=counts_by_path,
            )
