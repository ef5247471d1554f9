"""Answering a question: ask the sources, join on the dimensions, compute, order and cut.

One source that has all leaves orders and cuts inside its engine. Otherwise whole parts are joined
here. Either way a value is the same: it is computed from the same leaves.
"""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any, TypeAlias

from service_core.access.model import Caller
from service_core.insight.catalog import Catalog, Metric
from service_core.insight.measures import DailyMean, Leaf, Relation
from service_core.insight.ports import Grid, Sort
from service_core.insight.query.formula import read
from service_core.insight.query.ordering import ordered
from service_core.insight.query.parts import Part, Split, as_sent, plan_of, split
from service_core.insight.query.question import BUCKET, Question, Row, Table
from service_core.insight.query.sources import Source
from service_core.kernel.ranges import Buckets, Span, Unit
from service_core.kernel.reading import Number, Reading, Reason, Unavailable
from service_core.kernel.series import cover

Key: TypeAlias = tuple[datetime | None, tuple[str, ...]]
"""Bucket and labels of a row."""

Found: TypeAlias = dict[Key, dict[Leaf | DailyMean, Number]]


@dataclass
class Run:
    """One question on its way to its table.

    Attributes:
        sources: what answers for each relation.
        reasons: the metrics that are not measured.
    """

    catalog: Catalog
    sources: Mapping[Relation, Source]
    who: Caller
    question: Question
    reasons: Mapping[str, Reason]

    @property
    def _metrics(self) -> list[Metric]:
        return [self.catalog.metrics[id_] for id_ in self.question.metrics]

    @property
    def _measured(self) -> list[Metric]:
        return [metric for metric in self._metrics if metric.id not in self.reasons]

    async def table(self) -> Table:
        """Ask, join, compute, order and cut."""
        parts = split(
            self.question,
            self._measured,
            self.catalog,
            self.sources,
            self.who.workspace.currency,
        )
        return (
            await self._cut_in_the_engine(parts.parts[0])
            if self._is_one_plan(parts)
            else await self._joined(parts)
        )

    def _is_one_plan(self, parts: Split) -> bool:
        labelled = any(self.catalog.dimensions[d].labels for d in self.question.dimensions)
        filled = self.question.buckets is not None and not self.question.dimensions
        fitted = self.question.credit is not None and self.question.credit.fitted is not None
        return parts.is_whole and not (labelled or filled or fitted)

    async def _cut_in_the_engine(self, part: Part) -> Table:
        question = self.question
        plan = plan_of(part, question, self.catalog, self.who)
        composed = tuple(as_sent(metric.measure, part.sent) for metric in self._measured)
        rest = tuple(leaf for leaf in plan.measures if leaf not in composed)
        grid = await part.source.aggregate(
            replace(
                plan,
                measures=(*composed, *rest),
                order=self._sorts(part),
                limit=question.limit,
                offset=question.offset,
            )
        )
        sums = dict(zip(grid.leaves, grid.sums, strict=True))
        added = {atom: _exact(sums[leaf]) for atom, leaf in part.sent.items()}
        return Table(self._rows(self._found(part, grid)), grid.groups, self._sums(added))

    def _sorts(self, part: Part) -> tuple[Sort, ...]:
        dimensions = [self.question.dimensions[position] for position in part.present]
        names = {BUCKET: BUCKET}
        names |= {metric.id: f"m{i}" for i, metric in enumerate(self._measured)}
        names |= {id_: f"d{i}" for i, id_ in enumerate(dimensions)}
        absent = {id_: self.catalog.dimensions[id_].absent for id_ in dimensions}
        return tuple(
            Sort(names[key.field], key.descending, absent.get(key.field))
            for key in self.question.order
            if key.field in names
        )

    async def _joined(self, parts: Split) -> Table:
        answers = await asyncio.gather(*(self._asked(part) for part in parts.parts))
        found: Found = defaultdict(dict)
        added: dict[Leaf | DailyMean, Number] = defaultdict(int)
        for key, values in chain.from_iterable(answer.items() for answer in answers):
            found[key].update(values)
            for atom, value in values.items():
                added[atom] += value
        self._fill(found)
        rows = ordered(self._rows(found), self.question)
        end = None if self.question.limit is None else self.question.offset + self.question.limit
        return Table(tuple(rows[self.question.offset : end]), len(rows), self._sums(added))

    def _fill(self, found: Found) -> None:
        """Without dimensions nothing is left out: every bucket is there, and the total is."""
        if self.question.dimensions:
            return
        for start in self.question.buckets.starts if self.question.buckets else (None,):
            found.setdefault((start, ()), {})

    async def _asked(self, part: Part) -> Found:
        if part.daily:
            return await self._day_by_day(part)
        return self._found(
            part, await part.source.aggregate(plan_of(part, self.question, self.catalog, self.who))
        )

    async def _day_by_day(self, part: Part) -> Found:
        """Means over the full local days of the range, or of each bucket (stickiness)."""
        days = _full_days(self.question)
        if not days.starts:
            return {}
        span = Span(days.starts[0], days.end)
        daily = replace(self.question, range=replace(self.question.range, span=span), buckets=days)
        grid = await part.source.aggregate(plan_of(part, daily, self.catalog, self.who))
        buckets = [_bucket_of(start, self.question.buckets) for start in days.starts]
        sums: Found = defaultdict(lambda: defaultdict(int))
        for (day, labels), values in self._found(part, grid, bucketed=True).items():
            bucket = _bucket_of(day or span.start, self.question.buckets)
            for atom, value in values.items():
                sums[bucket, labels][atom] += value
        return {
            (bucket, labels): {atom: Fraction(value, buckets.count(bucket)) for atom, value in values.items()}
            for (bucket, labels), values in sums.items()
        }

    def _found(self, part: Part, grid: Grid, *, bucketed: bool | None = None) -> Found:
        lead = (self.question.buckets is not None) if bucketed is None else bucketed
        found: Found = defaultdict(lambda: defaultdict(int))
        for row in grid.rows:
            values = dict(zip(grid.leaves, row[lead + len(part.present) :], strict=True))
            group = found[row[0] if lead else None, self._labels(part, row[lead:])]
            for atom, leaf in part.sent.items():
                group[atom] += _exact(values[leaf])
        return found

    def _labels(self, part: Part, values: Sequence[Any]) -> tuple[str, ...]:
        by_position = dict(zip(part.present, values, strict=False))
        dimensions = (self.catalog.dimensions[id_] for id_ in self.question.dimensions)
        return tuple(d.label_of(by_position.get(i)) for i, d in enumerate(dimensions))

    def _rows(self, found: Found) -> tuple[Row, ...]:
        return tuple(
            Row(bucket, labels, tuple(self._reading(metric, values) for metric in self._metrics))
            for (bucket, labels), values in found.items()
        )

    def _reading(self, metric: Metric, values: Mapping[Leaf | DailyMean, Number]) -> Reading:
        if metric.id in self.reasons:
            return Unavailable(self.reasons[metric.id])
        return read(metric.measure, values, self.who.workspace.currency)

    def _sums(self, added: Mapping[Leaf | DailyMean, Number]) -> tuple[Number | None, ...]:
        return tuple(
            _exact(added.get(metric.measure, 0)) if isinstance(metric.measure, Leaf) else None
            for metric in self._metrics
        )


def _exact(value: Number | float) -> Number:
    return Fraction(value) if isinstance(value, float) else value


def _full_days(question: Question) -> Buckets:
    """The local days that lie in the range as a whole and are over."""
    asked = question.range
    days = cover(asked.span, Unit.DAY, asked.zone)
    last = min(asked.span.end, asked.now)
    full = [(s, e) for s, e in pairwise((*days.starts, days.end)) if s >= asked.span.start and e <= last]
    return Buckets(Unit.DAY, tuple(start for start, _ in full), full[-1][1] if full else days.end)


def _bucket_of(start: datetime, buckets: Buckets | None) -> datetime | None:
    return buckets.starts[bisect_right(buckets.starts, start) - 1] if buckets else None
