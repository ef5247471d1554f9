"""Answering a question: ask the sources, join on the dimensions, compute, order and cut.

One source that has all leaves orders and cuts inside its engine. Otherwise whole parts are joined
here. Either way a value is the same: it is computed from the same leaves.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

from service_core.access.model import Caller
from service_core.insight.catalog import Catalog, Metric
from service_core.insight.measures import Leaf, Relation
from service_core.insight.ports import Aggregate, Grid, Sort, StoreUnavailable
from service_core.insight.query.formula import Atom, Reader, reader
from service_core.insight.query.ordering import ordered
from service_core.insight.query.parts import Part, Split, as_sent, plan_of, split
from service_core.insight.query.question import BUCKET, Question, Row, Table
from service_core.insight.query.sources import Source, SourceUnavailable
from service_core.insight.query.tally import Tally
from service_core.kernel.ranges import Buckets, Span, Unit
from service_core.kernel.reading import Number, Reason, Unavailable
from service_core.kernel.series import cover
from service_core.kernel.together import together


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
            self.who.workspace,
        )
        return (
            await self._cut_in_the_engine(parts.parts[0])
            if self._is_one_plan(parts)
            else await self._joined(parts)
        )

    def _is_one_plan(self, parts: Split) -> bool:
        labelled = any(self.catalog.dimensions[d].labels for d in self.question.dimensions)
        filled = self.question.buckets is not None and not self.question.dimensions
        given = (self.question.credit, self.question.usual_credit)
        fitted = any(credit is not None and credit.fitted is not None for credit in given)
        return parts.is_whole and not (labelled or filled or fitted)

    async def _cut_in_the_engine(self, part: Part) -> Table:
        question = self.question
        plan = plan_of(part, question, self.catalog, self.who)
        composed = tuple(as_sent(metric.measure, part.sent) for metric in self._measured)
        rest = tuple(leaf for leaf in plan.measures if leaf not in composed)
        grid = await _told(
            part,
            replace(
                plan,
                measures=(*composed, *rest),
                order=self._sorts(part),
                limit=question.limit,
                offset=question.offset,
            ),
        )
        tally = Tally([part])
        self._count(tally, part, grid)
        sums = dict(zip(grid.leaves, grid.sums, strict=True))
        added = {atom: sums[leaf] for atom, leaf in part.sent.items()}
        return Table(tuple(self._rows(tally)), grid.groups, self._sums(added))

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
        tally = Tally(parts.parts)
        await together(*(self._asked(part, tally) for part in parts.parts if not part.daily))
        self._fill(tally)
        await together(*(self._day_by_day(part, tally) for part in parts.parts if part.daily))
        rows = ordered(self._rows(tally), self.question)
        end = None if self.question.limit is None else self.question.offset + self.question.limit
        return Table(tuple(rows[self.question.offset : end]), len(rows), self._sums(tally.sums()))

    def _fill(self, tally: Tally) -> None:
        """Without dimensions nothing is left out: every bucket is there, and the total is."""
        if self.question.dimensions:
            return
        for start in self.question.buckets.starts if self.question.buckets else (None,):
            tally.row((start, ()))

    async def _asked(self, part: Part, tally: Tally) -> None:
        self._count(tally, part, await _told(part, plan_of(part, self.question, self.catalog, self.who)))

    async def _day_by_day(self, part: Part, tally: Tally) -> None:
        """Means over the full local days of the range, or of each bucket (stickiness)."""
        days = _full_days(self.question)
        if not days.starts:
            return
        span = Span(days.starts[0], days.end)
        daily = replace(self.question, range=replace(self.question.range, span=span), buckets=days)
        by_day = Tally([part])
        self._count(
            by_day,
            part,
            await _told(part, plan_of(part, daily, self.catalog, self.who)),
            bucketed=True,
        )
        slots = [tally.slots[atom] for atom in part.sent]
        days_of = Counter(_bucket_of(start, self.question.buckets) for start in days.starts)
        for (day, labels), values in by_day.rows.items():
            bucket = _bucket_of(day or span.start, self.question.buckets)
            tally.add((bucket, labels), slots, [Fraction(value or 0, days_of[bucket]) for value in values])
        for (bucket, _), row in tally.rows.items():
            for slot in slots:
                row[slot] = row[slot] or (0 if days_of[bucket] else None)

    def _count(self, tally: Tally, part: Part, grid: Grid, *, bucketed: bool | None = None) -> None:
        lead = (self.question.buckets is not None) if bucketed is None else bucketed
        width = lead + len(part.present)
        slots = [tally.slots[atom] for atom in part.sent]
        places = {leaf: width + place for place, leaf in enumerate(grid.leaves)}
        columns = [places[leaf] for leaf in part.sent.values()]
        for row in grid.rows:
            key = (row[0] if lead else None, self._labels(part, row[lead:width]))
            tally.add(key, slots, [row[column] for column in columns])

    def _labels(self, part: Part, values: Sequence[Any]) -> tuple[str, ...]:
        by_position = dict(zip(part.present, values, strict=True))
        dimensions = (self.catalog.dimensions[id_] for id_ in self.question.dimensions)
        return tuple(d.label_of(by_position.get(i)) for i, d in enumerate(dimensions))

    def _rows(self, tally: Tally) -> Iterator[Row]:
        readers = [self._reader(metric, tally) for metric in self._metrics]
        for (bucket, labels), values in tally.rows.items():
            yield Row(bucket, labels, tuple([read(values) for read in readers]))

    def _reader(self, metric: Metric, tally: Tally) -> Reader:
        if metric.id in self.reasons:
            unavailable = Unavailable(self.reasons[metric.id])
            return lambda _: unavailable
        return reader(metric.measure, tally.slots, self.who.workspace.currency)

    def _sums(self, added: Mapping[Atom, float | Fraction]) -> tuple[Number | None, ...]:
        return tuple(
            _exact(added.get(metric.measure, 0)) if isinstance(metric.measure, Leaf) else None
            for metric in self._metrics
        )


async def _told(part: Part, plan: Aggregate) -> Grid:
    """What a source says to a plan.

    Raises:
        SourceUnavailable: it cannot be read.
    """
    try:
        return await part.source.aggregate(plan)
    except StoreUnavailable as fault:
        raise SourceUnavailable(part.source.relations) from fault


def _exact(value: float | Fraction) -> Number:
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
