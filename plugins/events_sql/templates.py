"""Questions that differ only in when they look, whose events, and what filters look for: one text for all.

Building and compiling a question costs far more than filling in its values. So that is done with
stand-ins: each instant of the question is replaced by the beginning of a far-off age of its own, and
the workspace, its currency, the names of its conversions and the texts that something is to equal by
others that nobody has. Whatever comes out near the beginning of an age is that instant of the question,
moved by as much; other stand-ins come out as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from uuid import UUID, uuid4

from plugins.events_sql.rows import naive
from service_core.plugin import Aggregate, Buckets, CohortPlan, Op, PeoplePage, Predicate, Scan, Span, Stretch

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Values of parameters: in order, or by name, as the dialect writes parameters."""

Rendered: TypeAlias = tuple[str, Values]
"""Text with parameters, and their values."""

T = TypeVar("T")
Plan: TypeAlias = Scan | Aggregate | CohortPlan | PeoplePage

_AGE: Final = 600
_AGES: Final = tuple(datetime(year, 1, 1, tzinfo=UTC) for year in range(3000, 6600, _AGE))
"""For the span, and for the first start and the end of up to two series of buckets."""

_NOBODY: Final = uuid4()
_CURRENCY, _NAMES, *_WORDS = (uuid4().hex for _ in range(20))
_OTHERS: Final = {_NOBODY, _CURRENCY, _NAMES, *_WORDS}
_EQUALS: Final = {Op.EQ, Op.NEQ, Op.IN, Op.NOT_IN}
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""So that nothing a statement adds to an instant, or takes from it, reaches half an age."""


class Question(NamedTuple):
    """What a statement is built from, as its template and what this one fills in.

    Attributes:
        given: plain values, with stand-ins.
        instants: what ages stand for, in their order.
        stand_for: what the other stand-ins stand for.
    """

    given: tuple[object, ...]
    instants: tuple[datetime, ...] = ()
    stand_for: Mapping[object, object] = MappingProxyType({})


def question(given: tuple[object, ...]) -> Question:
    """What a statement is built from, as a question; without stand-ins where none will do.

    Args:
        given: a plan, and plain values without instants.
    """
    plan = given[0] if given else None
    if not isinstance(plan, Scan | Aggregate | CohortPlan | PeoplePage) or _goes_by_zone(plan):
        return Question(given)
    instants = tuple(_instants(plan))
    if _scan_of(plan).rates is not None or min(instants) < _FIRST or max(instants) > _LAST:
        return Question(given)
    others = _Others()
    return Question((_moved(plan, others), *given[1:]), tuple(map(naive, instants)), others.stand_for)


def is_of_its_own(asked: Question) -> bool:
    """Whether nothing is like a question: rates are of the days it asks for, and many."""
    plan = asked.given[0] if asked.given else None
    scan = getattr(plan, "scan", plan)
    return isinstance(scan, Scan) and scan.rates is not None


class Template:
    """A text with values, some of them of stand-ins.

    Args:
        text: with parameters.
        values: of these.
    """

    def __init__(self, text: str, values: Values) -> None:
        self._text, self._values = text, values
        placed = list(values.items() if isinstance(values, Mapping) else enumerate(values))
        self._moved = [(place, *found) for place, value in placed for found in _ages_of(value)]
        self._others = [(place, *found) for place, value in placed for found in _other_of(value)]

    def filled(self, question: Question) -> Rendered:
        """The text with the values of a question."""
        values: Any = dict(self._values) if isinstance(self._values, Mapping) else list(self._values)
        for place, age, apart in self._moved:
            values[place] = question.instants[age] + apart
        for place, stand_in in self._others:
            values[place] = question.stand_for[stand_in]
        return self._text, values


def _ages_of(value: object) -> Iterator[tuple[int, timedelta]]:
    """The age an instant is near to, if any, and how far it is moved from its beginning."""
    if isinstance(value, datetime):
        age = (value.year - _AGES[0].year + _AGE // 2) // _AGE
        if 0 <= age < len(_AGES):
            yield age, value - naive(_AGES[age])


def _other_of(value: object) -> Iterator[tuple[object]]:
    """The stand-in that a value is, or is a list of."""
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(one, UUID | str) and one in _OTHERS:
        yield (one,)


def _goes_by_zone(plan: Plan) -> bool:
    """Whether a statement asks the calendar of the zone for more instants than the plan tells."""
    measures = plan.measures if isinstance(plan, Aggregate) else ()
    return any(leaf.trailing_days is not None for measure in measures for leaf in measure.leaves())


def _instants(plan: Plan) -> Iterator[datetime]:
    """All that a plan tells, but the starts of buckets after the first."""
    span = _scan_of(plan).span
    yield from (span.start, span.end)
    for buckets in _series_of(plan):
        yield from (buckets.starts[0], buckets.end)


def _scan_of(plan: Plan) -> Scan:
    return plan if isinstance(plan, Scan) else plan.scan


def _series_of(plan: Plan) -> tuple[Buckets, ...]:
    match plan:
        case Aggregate(buckets=Buckets() as buckets):
            return (buckets,)
        case CohortPlan(acquisition=acquisition, activity=activity):
            return (acquisition, activity)
        case _:
            return ()


def _moved(plan: Plan, others: "_Others") -> Plan:
    """The plan about nobody's events, in far-off ages."""
    match plan:
        case Scan():
            return others.of(plan)
        case Aggregate():
            buckets = plan.buckets and _Series.moved(plan.buckets, *_AGES[2:4])
            return replace(plan, scan=others.of(plan.scan), buckets=buckets)
        case CohortPlan():
            acquisition = _Series.moved(plan.acquisition, *_AGES[2:4])
            activity = _Series.moved(plan.activity, *_AGES[4:6])
            return replace(plan, scan=others.of(plan.scan), acquisition=acquisition, activity=activity)
        case PeoplePage():
            return replace(plan, scan=others.of(plan.scan), person=others.word(plan.person))


class _Others:
    """Stand-ins for what is no instant, each with what it stands for."""

    def __init__(self) -> None:
        self.stand_for: dict[object, object] = {}
        self.words = iter(_WORDS)

    def of(self, scan: Scan) -> Scan:
        """The scan of nobody's events that meet filters nobody asked for."""
        own = scan.conversions
        self.stand_for |= {_NOBODY: scan.workspace_id, _CURRENCY: scan.currency, _NAMES: sorted(own.names)}
        return replace(
            scan,
            workspace_id=_NOBODY,
            span=Span(*_AGES[:2]),
            currency=_CURRENCY,
            zone="",
            conversions=replace(own, names=frozenset({_NAMES})),
            filters=tuple(map(self._filter, scan.filters)),
        )

    def _filter(self, given: Predicate) -> Predicate:
        if given.op not in _EQUALS:
            return given
        if isinstance(given.value, tuple):
            return replace(given, value=tuple(map(self.word, given.value)))
        return replace(given, value=self.word(given.value))

    def word(self, value: T) -> T | str:
        """What stands in for a text that something is to equal; anything else stands for itself."""
        if not isinstance(value, str) or (word := next(self.words, None)) is None:
            return value
        self.stand_for[word] = value
        return word


@dataclass(frozen=True, slots=True)
class _Series(Buckets):
    """Buckets as far as a statement asks: their runs, the first start and the end."""

    runs: tuple[Stretch, ...]

    @staticmethod
    def moved(buckets: Buckets, first: datetime, end: datetime) -> "_Series":
        """All starts move with the first; the last run is as long as may be."""
        moved = [replace(run, start=first + (run.start - buckets.starts[0])) for run in buckets.stretches()]
        moved[-1] = replace(moved[-1], count=1)
        return _Series(buckets.unit, (first,), end, tuple(moved))

    def stretches(self) -> tuple[Stretch, ...]:
        """The runs."""
        return self.runs
