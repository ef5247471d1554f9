"""The one door to metric values: `/overview`, `/metrics`, `/query` and all others ask here.

So one metric has one value everywhere (semantics 1.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

from service_core.access.model import Caller
from service_core.insight.attribution.choose import InsufficientData
from service_core.insight.catalog import Catalog, Metric
from service_core.insight.measures import Leaf, Operand, Relation
from service_core.insight.query.formula import atoms, leaf_of, reader
from service_core.insight.query.question import Question, Table
from service_core.insight.query.run import Run
from service_core.insight.query.sources import NOT_CONNECTED, Source, SourceState
from service_core.kernel.ranges import Range
from service_core.kernel.reading import Reading, Reason, Unavailable
from service_core.kernel.together import together

_NOTHING_HELD: Final[Mapping[str, Operand]] = MappingProxyType({})


@dataclass(frozen=True)
class Questions:
    """Everything that can be asked about metrics, whoever asks.

    Attributes:
        catalog: metrics and dimensions, plugins' included.
        sources: what evaluates them.
    """

    catalog: Catalog
    sources: tuple[Source, ...]
    _by_relation: dict[Relation, Source] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.sources:
            self._by_relation.update(dict.fromkeys(source.relations, source))

    async def ask(self, who: Caller, question: Question) -> Table:
        """Answer a question.

        Raises:
            QueryTimeout: a source missed its budget.
            SourceUnavailable: a source cannot be read.
        """
        if question.buckets is not None and not question.buckets.starts:
            return Table((), 0, tuple(0 for _ in question.metrics))
        reasons = await self.reasons(who, question.metrics, question.held)
        try:
            return await Run(self.catalog, self._by_relation, who, question, reasons).table()
        except InsufficientData:
            credited = dict.fromkeys(self._credited(question.metrics), Reason.INSUFFICIENT_DATA)
            return await Run(self.catalog, self._by_relation, who, question, credited | reasons).table()

    def source(self, relation: Relation) -> Source | None:
        """What answers for a relation, for whoever asks for more than metrics; None when nothing does."""
        return self._by_relation.get(relation)

    def _credited(self, ids: Sequence[str]) -> Iterator[str]:
        for id_ in ids:
            if any(leaf_of(atom).of is Relation.CREDITS for atom in atoms(self.catalog.metrics[id_].measure)):
                yield id_

    def named(self, ids: Sequence[str]) -> tuple[Metric, ...]:
        """The metrics with these ids, which are checked."""
        return tuple(self.catalog.metrics[id_] for id_ in ids)

    async def nothing(self, who: Caller, question: Question) -> tuple[Reading, ...]:
        """The readings of a row no fact was found for."""
        reasons = await self.reasons(who, question.metrics, question.held)
        return tuple(
            Unavailable(reasons[metric.id]) if metric.id in reasons else reader(metric.measure, {}, "")(())
            for metric in self.named(question.metrics)
        )

    async def reasons(
        self, who: Caller, metrics: Sequence[str], held: Mapping[str, Operand] = _NOTHING_HELD
    ) -> dict[str, Reason]:
        """The metrics that are not measured for the caller's workspace, each with its reason.

        Args:
            who: whose workspace.
            metrics: ids of the catalog.
            held: dimensions of which each row asked for is of one value; see `Question.held`.
        """
        states = await self.states(who, metrics, held)
        found: dict[str, Reason] = {}
        for id_ in metrics:
            for atom in atoms(self.catalog.metrics[id_].measure):
                reason = _reason(leaf_of(atom), states, held)
                if reason is not None:
                    found.setdefault(id_, reason)
        return found

    async def states(
        self, who: Caller, metrics: Sequence[str], held: Mapping[str, Operand] = _NOTHING_HELD
    ) -> dict[Relation, SourceState]:
        """State of the source of each relation the metrics involve, as far as rows of the values held go."""
        relations = {leaf_of(a).of for id_ in metrics for a in atoms(self.catalog.metrics[id_].measure)}
        sources = {r: source for r in relations if (source := self._by_relation.get(r)) is not None}
        involved = {id(source): source for source in sources.values()}
        found = await together(*(s.state(who.workspace, who.now) for s in involved.values()))
        states = {id_: state.of(held) for id_, state in zip(involved, found, strict=True)}
        return {relation: states[id(source)] for relation, source in sources.items()}

    async def watermark(
        self, who: Caller, metrics: Sequence[str], held: Mapping[str, Operand] = _NOTHING_HELD
    ) -> datetime:
        """Up to when the data of every measured source is present (semantics 19.2)."""
        return _watermark(who, await self.states(who, metrics, held))

    async def complete(
        self, who: Caller, asked: Range, metrics: Sequence[str], held: Mapping[str, Operand] = _NOTHING_HELD
    ) -> bool:
        """Whether every source behind the metrics answered, and was read over the whole range, up to now."""
        states = await self.states(who, metrics, held)
        if any(state.reasons.get(of) is Reason.SOURCE_ERROR for of, state in states.items()):
            return False
        return min(asked.span.end, who.now) <= _watermark(who, states)


def _reason(leaf: Leaf, states: Mapping[Relation, SourceState], held: Mapping[str, Operand]) -> Reason | None:
    if leaf.of not in states:
        return NOT_CONNECTED.get(leaf.of, Reason.SOURCE_ERROR)
    state = states[leaf.of]
    is_mixed = leaf.apart in state.several and leaf.apart not in held
    return state.reasons.get(leaf.of) or (Reason.MULTIPLE_PLATFORMS if is_mixed else None)


def _watermark(who: Caller, states: Mapping[Relation, SourceState]) -> datetime:
    measured = (state.through(of) for of, state in states.items() if of not in state.reasons)
    return min(measured, default=who.now)
