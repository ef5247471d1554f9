"""Credits by the ad a touch came from: the event store tells them by what addresses said, and here that is looked up.

Nothing is written to events: an account that is connected later is joined to touches of before.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Protocol
from uuid import UUID

from service_core.commerce.ads.model import Level
from service_core.commerce.ads.ports import SpendStore
from service_core.commerce.ads.touches import TAGS, AdTable
from service_core.insight.columns import JOINED
from service_core.insight.measures import Leaf, Predicate, Relation
from service_core.insight.ports import Aggregate, Aggregates, Grid, Path, PathPlan, Paths
from service_core.insight.predicates import meets
from service_core.kernel.together import together

_TOUCH: Final = "touch."
_KEYED: Final = JOINED.removeprefix(_TOUCH)
_TAGGED: Final = tuple({str(Relation.CREDITS): f"{_TOUCH}{tag}"} for tag in TAGS)


class Touching(Aggregates, Paths, Protocol):
    """What is asked of the event store."""


@dataclass(frozen=True, slots=True)
class AdCredits:
    """Implements `Aggregates` and `Paths` with the columns `columns.JOINED` of credits; asked by those, for whole answers."""

    events: Touching
    store: SpendStore

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures; plans without a column of ads are the store's own."""
        leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
        grouped = tuple(columns.get(Relation.CREDITS, "") for columns in plan.dimensions)
        compared = (p.column for leaf in leaves for p in (*plan.scan.filters, *leaf.where))
        if not any(map(_is_joined, (*grouped, *compared))):
            return await self.events.aggregate(plan)
        asked = _Asked(plan, leaves, grouped)
        return asked.grid(
            await self.events.aggregate(asked.by_tags()), await self._ads(plan.scan.workspace_id)
        )

    async def paths(self, plan: PathPlan) -> Sequence[Path]:
        """Every different path of keys; ads of one key in a row are one."""
        if not any(name.startswith(_KEYED) for name in plan.key):
            return await self.events.paths(plan)
        kept = tuple(name for name in plan.key if not name.startswith(_KEYED))
        ads = await self._ads(plan.scan.workspace_id)
        converted: Counter[tuple[Any, ...]] = Counter()
        unconverted: Counter[tuple[Any, ...]] = Counter()
        for path in await self.events.paths(replace(plan, key=(*kept, *TAGS))):
            named = (_named(plan.key, kept, key, ads) for key in path.keys)
            keys = tuple(key for key, _ in groupby(named))
            converted[keys] += path.converted
            unconverted[keys] += path.unconverted
        return [Path(keys, converted[keys], unconverted[keys]) for keys in converted]

    async def _ads(self, workspace_id: UUID) -> AdTable:
        told = await together(*(self.store.entities(workspace_id, level) for level in Level))
        return AdTable(entity for of_level in told for entity in of_level)


def _is_joined(column: str) -> bool:
    return column.startswith(JOINED)


def _named(
    names: Sequence[str], kept: Sequence[str], key: Sequence[str | None], ads: AdTable
) -> tuple[Any, ...]:
    """A key with what its tags lead to."""
    own = dict(zip(kept, key, strict=False))
    place = ads.place(*key[len(kept) :])
    return tuple(own[name] if name in own else place.get(name.removeprefix(_KEYED)) for name in names)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A plan by columns of ads, as one by tags, and back."""

    plan: Aggregate
    leaves: tuple[Leaf, ...]
    grouped: tuple[str, ...]

    def by_tags(self) -> Aggregate:
        """The plan as the event store takes it."""
        plan = self.plan
        dimensions = zip(self.grouped, plan.dimensions, strict=True)
        return replace(
            plan,
            scan=replace(plan.scan, filters=_without_ads(plan.scan.filters)),
            measures=tuple(dict.fromkeys(map(_plain, self.leaves))),
            dimensions=(*(of for column, of in dimensions if not _is_joined(column)), *_TAGGED),
        )

    def grid(self, found: Grid, ads: AdTable) -> Grid:
        """What was found by tags, in the cells of the plan."""
        cells: dict[tuple[Any, ...], dict[Leaf, Any]] = defaultdict(lambda: dict.fromkeys(self.leaves, 0))
        for row in found.rows:
            width = len(row) - len(found.leaves)
            own, tags = row[: width - len(TAGS)], row[width - len(TAGS) : width]
            place = ads.place(*tags)
            values = dict(zip(found.leaves, row[width:], strict=True))
            for leaf in self._met_at(place):
                cells[self._cell(own, place)][leaf] += values[_plain(leaf)]
        if not (cells or self.grouped or self.plan.buckets):
            cells[()].update({})
        rows = [(*cell, *values.values()) for cell, values in cells.items()]
        sums = tuple(sum(values[leaf] for values in cells.values()) for leaf in self.leaves)
        return Grid(rows, self.leaves, len(rows), sums)

    def _met_at(self, place: Mapping[str, str | None]) -> Iterator[Leaf]:
        """The leaves that count touches of a place."""
        for leaf in self.leaves:
            conditions = (p for p in (*self.plan.scan.filters, *leaf.where) if _is_joined(p.column))
            if all(meets(place.get(p.column.removeprefix(JOINED)), p.op, p.value) for p in conditions):
                yield leaf

    def _cell(self, own: Sequence[Any], place: Mapping[str, str | None]) -> tuple[Any, ...]:
        values = iter(own)
        lead = (next(values),) if self.plan.buckets else ()
        return (
            *lead,
            *(place.get(c.removeprefix(JOINED)) if _is_joined(c) else next(values) for c in self.grouped),
        )


def _without_ads(conditions: Sequence[Predicate]) -> tuple[Predicate, ...]:
    return tuple(p for p in conditions if not _is_joined(p.column))


def _plain(leaf: Leaf) -> Leaf:
    return replace(leaf, where=_without_ads(leaf.where))
