"""Credits by a data-driven model: what the store counts in total, shared out over keys of touches.

The model is fitted to the paths of the whole range. What is split further, by bucket or by a column
that is no touch's, is shared out in the same proportion, each cell to its last unit.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

from service_core.insight.attribution.choose import fitted, totals_only
from service_core.insight.attribution.model import Models
from service_core.insight.attribution.ports import DataDriven, Key
from service_core.insight.measures import Leaf, Predicate, Relation
from service_core.insight.ports import Aggregate, Aggregates, Credit, Grid, PathPlan, Paths
from service_core.insight.predicates import meets
from service_core.kernel.money import split

_TOUCH: Final = "touch."
_ANY_KEY: Final = "touch.channel"
"""Key of a question without a column of touches: the sum over all keys is the total."""

Cell: TypeAlias = tuple[Any, ...]
"""Bucket, if bucketed, and dimension values."""


@dataclass(frozen=True, slots=True)
class FittedCredits:
    """Evaluates plans whose credit names a data-driven model; they come without order and limit."""

    events: Aggregates
    paths: Paths
    models: Models

    async def aggregate(self, plan: Aggregate, credit: Credit) -> Grid:
        """Evaluate leaves by dimensions and buckets.

        Raises:
            InsufficientData: the model has too little to learn from.
        """
        leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
        others = tuple(leaf for leaf in leaves if leaf.of is not Relation.CREDITS)
        found: dict[Cell, dict[Leaf, Any]] = defaultdict(lambda: dict.fromkeys(leaves, 0))
        if others:
            grid = await self.events.aggregate(replace(plan, measures=others, credit=None))
            for cell, values in _cells(grid):
                found[cell].update(values)
        question = _Shared(plan, tuple(leaf for leaf in leaves if leaf.of is Relation.CREDITS))
        if question.leaves:
            weights = await self._weights(plan, credit, question.columns)
            totals = await self.events.aggregate(question.totals(credit))
            for cell, leaf, value in question.shares(totals, weights):
                found[cell][leaf] += value
        rows = [(*cell, *values.values()) for cell, values in found.items()]
        sums = tuple(sum(values[leaf] for values in found.values()) for leaf in leaves)
        return Grid(rows or _nothing(plan, leaves), leaves, len(rows), sums)

    async def _weights(
        self, plan: Aggregate, credit: Credit, columns: Sequence[str]
    ) -> Mapping[Key, Fraction]:
        model = self.models.named(credit.fitted or "")
        if not isinstance(model, DataDriven):
            raise TypeError(f"{model.id} is no data-driven model")
        key = tuple("|".join(name.removeprefix(_TOUCH) for name in column.split("|")) for column in columns)
        paths = PathPlan(replace(plan.scan, filters=()), credit.window, key, credit.event_names)
        return await fitted(self.models, model, paths, self.paths)


@dataclass(frozen=True, slots=True)
class _Shared:
    """The credited leaves of a plan, apart from what is asked of touches."""

    plan: Aggregate
    leaves: tuple[Leaf, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of touches that is grouped by or compared."""
        grouped = (column for column in self._dimensions if _is_of_touch(column))
        compared = (p.column for leaf in self.leaves for p in self._conditions(leaf))
        return tuple(dict.fromkeys((*grouped, *compared))) or (_ANY_KEY,)

    def totals(self, credit: Credit) -> Aggregate:
        """The plan without any touch in it."""
        return replace(
            self.plan,
            scan=replace(self.plan.scan, filters=_without_touches(self.plan.scan.filters)),
            measures=tuple(dict.fromkeys(map(_plain, self.leaves))),
            dimensions=tuple(
                dimension
                for dimension, column in zip(self.plan.dimensions, self._dimensions, strict=True)
                if not _is_of_touch(column)
            ),
            credit=totals_only(credit),
        )

    def shares(
        self, totals: Grid, weights: Mapping[Key, Fraction]
    ) -> Iterator[tuple[Cell, Leaf, int | float]]:
        """What each cell gets of each total."""
        keys = [dict(zip(self.columns, key, strict=True)) for key in weights]
        for cell, values in _cells(totals):
            for leaf in self.leaves:
                for key, part in zip(keys, _parts(leaf, values[_plain(leaf)], weights), strict=True):
                    if part and all(meets(key[p.column], p.op, p.value) for p in self._conditions(leaf)):
                        yield self._cell(cell, key), leaf, part

    @property
    def _dimensions(self) -> tuple[str, ...]:
        return tuple(dimension[Relation.CREDITS] for dimension in self.plan.dimensions)

    def _conditions(self, leaf: Leaf) -> tuple[Predicate, ...]:
        return tuple(p for p in (*self.plan.scan.filters, *leaf.where) if _is_of_touch(p.column))

    def _cell(self, total: Cell, key: Mapping[str, str | None]) -> Cell:
        """A cell of the plan, from a cell of the totals and a key."""
        own = iter(total)
        lead = (next(own),) if self.plan.buckets else ()
        return (*lead, *(key[column] if _is_of_touch(column) else next(own) for column in self._dimensions))


def _is_of_touch(column: str) -> bool:
    return column.startswith(_TOUCH)


def _without_touches(conditions: Sequence[Predicate]) -> tuple[Predicate, ...]:
    return tuple(p for p in conditions if not _is_of_touch(p.column))


def _plain(leaf: Leaf) -> Leaf:
    return replace(leaf, where=_without_touches(leaf.where))


def _parts(leaf: Leaf, total: int, weights: Mapping[Key, Fraction]) -> list[int]:
    """A sum in proportion; a number of rows tells whether there are any, and stays whole for each key."""
    return split(total, list(weights.values())) if leaf.column else [total] * len(weights)


def _cells(grid: Grid) -> Iterator[tuple[Cell, dict[Leaf, Any]]]:
    width = len(grid.leaves)
    return ((row[:-width], dict(zip(grid.leaves, row[-width:], strict=True))) for row in grid.rows)


def _nothing(plan: Aggregate, leaves: tuple[Leaf, ...]) -> list[Cell]:
    """The one row an answer without dimensions and buckets always has."""
    return [] if plan.dimensions or plan.buckets else [(0,) * len(leaves)]
