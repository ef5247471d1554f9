"""A store and the oracle give the same answer to every question about generated worlds."""

import math
import os
from collections.abc import Callable
from dataclasses import fields
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings

from service_core.insight.cohorts.ports import CohortTable
from service_core.insight.columns import COLUMNS
from service_core.insight.funnels.ports import FunnelStep, FunnelTable
from service_core.insight.ports import Grid, Path
from service_core.testing import plans
from service_core.testing.event_store.kit import Kit, Store
from service_core.testing.generated import World, worlds

EXAMPLES = int(os.environ.get("TOUCHPOINT_EXAMPLES", "5"))
"""Worlds per test; a nightly run asks for more."""

QUESTIONS = 4
"""Questions asked about each world."""

on_worlds = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    # Tests keep to workspaces of their own, so examples may share a store, and classes a test.
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.differing_executors,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


async def told(world: World, random: Random, *stores: Store) -> None:
    """Store a world, in batches of their own for each store."""
    events = world.story.events
    for store in stores:
        cut = random.randint(0, len(events))
        for batch in (events[:cut], events[cut:]):
            await store.append(batch)


async def agree(
    store: Store, oracle: Store, method: str, *plan: Any, shown: Callable[[Any], Any] = lambda answer: answer
) -> None:
    """Ask both the same; the plan and both answers are told when they differ.

    Args:
        store: the store under test.
        oracle: the reference.
        method: name of the port's method.
        plan: its arguments.
        shown: what of an answer is compared, where the order is free.
    """
    answer, expected = shown(await getattr(store, method)(*plan)), shown(await getattr(oracle, method)(*plan))
    assert same(answer, expected), f"{method} {plan}\n\nanswers  {answer}\n\nexpected {expected}"


def same(answer: Any, expected: Any) -> bool:
    """Whether two answers are equal; floats by value within their last digits."""
    if isinstance(expected, float) and isinstance(answer, int | float):
        return math.isclose(answer, expected, rel_tol=1e-9, abs_tol=1e-6)
    if isinstance(expected, list | tuple) and isinstance(answer, list | tuple):
        return len(answer) == len(expected) and all(map(same, answer, expected))
    if isinstance(expected, Grid | FunnelTable | FunnelStep) and type(answer) is type(expected):
        return all(same(getattr(answer, f.name), getattr(expected, f.name)) for f in fields(expected))
    return bool(answer == expected)


def cells(table: CohortTable) -> object:
    """A cohort table without its empty cells."""
    met = [cell for cell in table.cells if cell.active or cell.revenue or cell.foreign_money]
    return dict(table.sizes), sorted(met, key=lambda cell: (cell.cohort, cell.bucket))


def counted(found: list[Path]) -> object:
    """Paths in no order."""
    return {path.keys: (path.converted, path.unconverted) for path in found}


class Agreement(Kit):
    """Differential runs against the oracle."""

    @given(drawn=worlds())
    @on_worlds
    async def test_aggregates_agree(self, store: Store, oracle: Store, drawn: tuple[World, Random]) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        for _ in range(3 * QUESTIONS):
            await agree(store, oracle, "aggregate", plans.aggregate(random, world))

    @given(drawn=worlds())
    @on_worlds
    async def test_every_column_a_metric_may_name_agrees(
        self, store: Store, oracle: Store, drawn: tuple[World, Random]
    ) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        for relation in COLUMNS:
            await agree(store, oracle, "aggregate", plans.every_column(random, world, relation))

    @given(drawn=worlds())
    @on_worlds
    async def test_credits_by_all_that_tells_of_an_ad_agree(
        self, store: Store, oracle: Store, drawn: tuple[World, Random]
    ) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        await agree(store, oracle, "aggregate", plans.by_tags(random, world))

    @given(drawn=worlds())
    @on_worlds
    async def test_pages_and_names_agree(
        self, store: Store, oracle: Store, drawn: tuple[World, Random]
    ) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        for _ in range(QUESTIONS):
            await agree(store, oracle, "page", plans.page(random, world))
            scan = plans.scan(random, world)
            await agree(store, oracle, "names", scan)
            await agree(store, oracle, "properties", scan, 2)
            await agree(store, oracle, "live", scan, scan.span.start, 3)

    @given(drawn=worlds())
    @on_worlds
    async def test_persons_agree(self, store: Store, oracle: Store, drawn: tuple[World, Random]) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        await self.compare_persons(store, oracle, world, random)
        for event in random.sample(world.story.events, min(2, len(world.story.events))):
            for asked in (store, oracle):
                await asked.revoke_link(world.story.workspace_id, event.event_id)
        await self.compare_persons(store, oracle, world, random)

    async def compare_persons(self, store: Store, oracle: Store, world: World, random: Random) -> None:
        """Pages of persons, and everything about each of them."""
        workspace = world.story.workspace_id
        for _ in range(QUESTIONS):
            await agree(store, oracle, "people", plans.people(random, world))
        await agree(store, oracle, "contested", workspace, random.choice((1, 9)))
        scan, ids = plans.scan(random, world), ("A1", "A4", "U1", "U2", "nobody")
        await agree(store, oracle, "origins", workspace, ids)
        for any_id in ids:
            await agree(store, oracle, "resolve", workspace, any_id)
            person = await oracle.resolve(workspace, any_id)
            if person:
                await agree(store, oracle, "history", scan, person)
                await agree(store, oracle, "touches", scan, person)
                await agree(store, oracle, "history", scan, person, 2)
                await agree(store, oracle, "touches", scan, person, 2)
                await agree(store, oracle, "journey", plans.journey(random, world, person))

    @given(drawn=worlds())
    @on_worlds
    async def test_cohorts_agree(self, store: Store, oracle: Store, drawn: tuple[World, Random]) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        for _ in range(QUESTIONS):
            await agree(store, oracle, "cohorts", plans.cohorts(random, world), shown=cells)

    @given(drawn=worlds())
    @on_worlds
    async def test_funnels_agree(self, store: Store, oracle: Store, drawn: tuple[World, Random]) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        for _ in range(2 * QUESTIONS):
            await agree(store, oracle, "funnel", plans.funnel(random, world))

    @given(drawn=worlds())
    @on_worlds
    async def test_paths_agree(self, store: Store, oracle: Store, drawn: tuple[World, Random]) -> None:
        world, random = drawn
        await told(world, random, store, oracle)
        for _ in range(QUESTIONS):
            await agree(store, oracle, "paths", plans.paths(random, world), shown=counted)
