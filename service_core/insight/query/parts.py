"""Splitting a question by source: which leaves go where, under which conditions and columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from service_core.access.model import Caller, Workspace
from service_core.insight.catalog import Catalog, Metric
from service_core.insight.columns import JOINED
from service_core.insight.event_names import CONVERSIONS
from service_core.insight.measures import DailyMean, Difference, Leaf, Measure, Predicate, Ratio, Relation
from service_core.insight.ports import Aggregate, Scan
from service_core.insight.query.filters import NEVER, predicates
from service_core.insight.query.formula import atoms, flaws, leaf_of
from service_core.insight.query.question import Question
from service_core.insight.query.sources import NOT_CONNECTED, Source
from service_core.insight.scans import conversion_set, scan_of
from service_core.intake.event_time import EARLIEST
from service_core.kernel.series import reaching


@dataclass(slots=True)
class Part:
    """What one source is asked in one plan.

    Attributes:
        sent: atom of the question -> the leaf the source is asked, conditions included.
        present: positions of the question's dimensions that the relations of this part have; in
            the others all of its rows are absent.
        by_default: whether its credits follow the workspace's default attribution.
        by_house: whether its conversions are those of the house and not the workspace's own.
        filters: conditions all of its leaves share.
    """

    source: Source
    present: tuple[int, ...]
    daily: bool
    by_default: bool
    by_house: bool
    sent: dict[Leaf | DailyMean, Leaf] = field(default_factory=dict)
    filters: tuple[Predicate, ...] = ()

    @property
    def relations(self) -> frozenset[Relation]:
        """Those it is asked for."""
        return frozenset(leaf.of for leaf in self.sent.values())


@dataclass(frozen=True, slots=True)
class Split:
    """A question in parts; atoms that stand in no part are 0, as no row can meet their conditions.

    Attributes:
        is_whole: one part is all of it, and the event store can order and cut it.
    """

    parts: tuple[Part, ...]
    is_whole: bool


def split(
    question: Question,
    metrics: Sequence[Metric],
    catalog: Catalog,
    by_relation: Mapping[Relation, Source],
    workspace: Workspace,
) -> Split:
    """Group the atoms of the metrics by source, and by the dimensions their relation has."""
    differs = not conversion_set(workspace.rules, workspace.triggers).names >= CONVERSIONS.names
    conditions: dict[Relation, tuple[Predicate, ...] | None] = {}
    parts: dict[tuple[int, tuple[int, ...], bool, bool, bool], Part] = {}
    never = False
    for atom in _all_atoms(metrics, workspace.currency):
        leaf = leaf_of(atom)
        relation = leaf.of
        if relation not in conditions:
            conditions[relation] = predicates(question.filters, catalog.dimensions, relation)
        if conditions[relation] is NEVER:
            never = True
            continue
        source = by_relation[relation]
        present = _present(question, catalog, relation)
        kind = isinstance(atom, DailyMean), leaf.by_default, leaf.by_house and differs
        part = parts.setdefault((id(source), present, *kind), Part(source, present, *kind))
        part.sent[atom] = _plain(atom)
    for part in parts.values():
        _place_conditions(part, conditions)
    cut = all(_is_for_engine(part, question, catalog) for part in parts.values())
    return Split(tuple(parts.values()), is_whole=len(parts) == 1 and cut and not never)


def _is_for_engine(part: Part, question: Question, catalog: Catalog) -> bool:
    """Whether the event store holds all that its rows are ordered and cut by."""
    asked = (*question.dimensions, *(condition.dimension for condition in question.filters))
    columns = (catalog.dimensions[id_].columns.get(of, "") for id_ in asked for of in part.relations)
    of_events = NOT_CONNECTED.keys().isdisjoint(part.relations)
    return of_events and not part.daily and not any(column.startswith(JOINED) for column in columns)


def _all_atoms(metrics: Iterable[Metric], currency: str) -> Iterable[Leaf | DailyMean]:
    for metric in metrics:
        for atom in atoms(metric.measure):
            yield atom
            yield from (rows for rows, _ in flaws(leaf_of(atom), currency))


def _plain(atom: Leaf | DailyMean) -> Leaf:
    """What a source is asked: day by day, the days need not be widened; of gaps it is asked by a leaf of their own."""
    return (
        replace(atom.leaf, trailing_days=None) if isinstance(atom, DailyMean) else replace(atom, gapped_by=())
    )


def _present(question: Question, catalog: Catalog, relation: Relation) -> tuple[int, ...]:
    return tuple(
        position
        for position, id_ in enumerate(question.dimensions)
        if relation in catalog.dimensions[id_].columns
    )


def _place_conditions(part: Part, conditions: Mapping[Relation, tuple[Predicate, ...] | None]) -> None:
    """Once for the whole scan where all leaves share them, else with each leaf."""
    used = {conditions[leaf.of] for leaf in part.sent.values()}
    if len(used) == 1:
        part.filters = used.pop() or ()
        return
    part.sent = {atom: leaf.filtered(*conditions[leaf.of] or ()) for atom, leaf in part.sent.items()}


def plan_of(part: Part, question: Question, catalog: Catalog, who: Caller) -> Aggregate:
    """The part as a plan for its source, without order and limit, and without buckets no event can be in."""
    columns = [catalog.dimensions[question.dimensions[position]].columns for position in part.present]
    return Aggregate(
        scan=_scan(part, question, who),
        measures=tuple(dict.fromkeys(part.sent.values())),
        dimensions=tuple(
            {str(relation): named[relation] for relation in part.relations} for named in columns
        ),
        buckets=question.buckets and reaching(question.buckets, EARLIEST, who.now),
        credit=question.usual_credit if part.by_default else question.credit,
    )


def _scan(part: Part, question: Question, who: Caller) -> Scan:
    scan = scan_of(
        who,
        question.range.span,
        filters=part.filters,
        include_bots=question.include_bots,
        order_refunds=question.order_refunds,
    )
    return replace(scan, conversions=CONVERSIONS) if part.by_house else scan


def as_sent(measure: Measure, sent: Mapping[Leaf | DailyMean, Leaf]) -> Measure:
    """A measure made of the leaves the source is asked, for ordering there."""
    if isinstance(measure, Ratio):
        return replace(
            measure,
            numerator=as_sent(measure.numerator, sent),
            denominator=as_sent(measure.denominator, sent),
        )
    if isinstance(measure, Difference):
        return Difference(as_sent(measure.minuend, sent), as_sent(measure.subtrahend, sent))
    return sent[measure]
