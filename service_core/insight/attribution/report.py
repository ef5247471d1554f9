"""`GET /attribution`: asking for credits by group, by a rule in the store or by a model fitted here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service_core.insight.attribution.choose import by_text, fitted
from service_core.insight.attribution.figures import (
    ATTRIBUTED,
    SESSIONS,
    UNATTRIBUTED,
    VISITORS,
    Earnings,
    Leaves,
)
from service_core.insight.attribution.grouping import Grouping
from service_core.insight.attribution.model import Models
from service_core.insight.attribution.ports import DataDriven, Key
from service_core.insight.measures import Leaf
from service_core.insight.ports import Aggregate, Aggregates, Credit, Grid, PathPlan, Paths, Scan, Sort
from service_core.kernel.money import split
from service_core.kernel.together import together


@dataclass(frozen=True, slots=True)
class Group:
    """One group of touches with its figures."""

    key: Key
    visitors: int
    sessions: int
    earned: Earnings


@dataclass(frozen=True, slots=True)
class Totals:
    """Everything in the range."""

    visitors: int
    sessions: int
    attributed: Earnings
    unattributed: Earnings

    @property
    def earned(self) -> Earnings:
        """Credited or not."""
        return self.attributed + self.unattributed


@dataclass(frozen=True, slots=True)
class Report:
    """One question of attribution to a store; ``credit`` is a rule it can apply."""

    scan: Scan
    credit: Credit
    aggregates: Aggregates

    async def totals(self) -> Totals:
        """The sums over all groups."""
        parts = [Leaves.over(which) for which in (ATTRIBUTED, UNATTRIBUTED)]
        leaves = (VISITORS, SESSIONS, *(leaf for part in parts for leaf in part.all))
        grid = await self.aggregates.aggregate(Aggregate(self.scan, leaves, credit=self.credit))
        values = dict(zip(grid.leaves, grid.rows[0], strict=True))
        return Totals(values[VISITORS], values[SESSIONS], *(part.read(values) for part in parts))

    async def groups(self, grouping: Grouping, limit: int | None = None) -> tuple[list[Group], bool]:
        """The groups by a rule-based model, best first, and whether some were cut off."""
        leaves = Leaves.over(ATTRIBUTED)
        plan = Aggregate(
            self.scan,
            (*leaves.all[:2], VISITORS, *leaves.all[2:], SESSIONS),
            dimensions=grouping.dimensions,
            order=(Sort("m0"), Sort("m1"), Sort("m2"), *_by_name(grouping)),
            limit=limit,
            credit=self.credit,
        )
        grid = await self.aggregates.aggregate(plan)
        groups = [
            Group(key, values[VISITORS], values[SESSIONS], leaves.read(values)) for key, values in _rows(grid)
        ]
        return groups, grid.groups > len(grid.rows)

    async def visits(self, grouping: Grouping) -> list[Group]:
        """Who came, by group; nothing is credited."""
        plan = Aggregate(self.scan, (VISITORS, SESSIONS), dimensions=grouping.dimensions)
        grid = await self.aggregates.aggregate(plan)
        return [Group(key, values[VISITORS], values[SESSIONS], Earnings()) for key, values in _rows(grid)]


@dataclass(frozen=True, slots=True)
class FittedReport:
    """The same question to a data-driven model: the groups share out the totals of the store."""

    report: Report
    models: Models
    model: DataDriven
    paths: Paths

    async def groups(
        self, grouping: Grouping, totals: Totals, limit: int | None = None
    ) -> tuple[list[Group], bool]:
        """The groups, best first, and whether some were cut off."""
        credit, scan = self.report.credit, self.report.scan
        plan = PathPlan(scan, credit.window, tuple(grouping.columns.values()), credit.event_names)
        weights, visits = await together(
            fitted(self.models, self.model, plan, self.paths), self.report.visits(grouping)
        )
        found = {group.key: group for group in visits}
        for key, earned in _shared(totals.attributed, weights).items():
            found[key] = replace(found.get(key) or Group(key, 0, 0, earned), earned=earned)
        ordered = sorted(found.values(), key=_best_first)
        return ordered[:limit], limit is not None and len(ordered) > limit


def _by_name(grouping: Grouping) -> Iterable[Sort]:
    return (Sort(f"d{i}", descending=False) for i in range(len(grouping.columns)))


def _rows(grid: Grid) -> Iterable[tuple[Key, Mapping[Leaf, Any]]]:
    width = len(grid.leaves)
    return ((row[:-width], dict(zip(grid.leaves, row[-width:], strict=True))) for row in grid.rows)


def _shared(total: Earnings, weights: Mapping[Key, Any]) -> dict[Key, Earnings]:
    """Totals in proportion to weights, to the last millionth and minor unit."""
    shares = list(weights.values())
    parts = [_parts(whole, shares) for whole in (total.credit, total.amount, total.refunded)]
    return {key: Earnings(*of_key) for key, *of_key in zip(weights, *parts, strict=True)}


def _parts(whole: int | None, weights: Sequence[Any]) -> Sequence[int | None]:
    return [None] * len(weights) if whole is None else split(whole, weights)


def _best_first(group: Group) -> tuple[Any, ...]:
    return (-(group.earned.amount or 0), -group.earned.credit, -group.visitors, by_text(group.key))
