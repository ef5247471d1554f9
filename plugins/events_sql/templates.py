"""Questions that differ only in when they look, whose events, and what filters look for: one text for all.

Building and compiling a question costs far more than filling in its values. So that is done with
stand-ins: every instant of the question is replaced by the beginning of a far-off age of its own, in
the same order, the workspace by one that nobody has, and a text that something is to equal by a word
that nobody says. Whatever comes out near the beginning of an age is that instant of the question,
moved by as much; the others come out as they are.
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
Ages: TypeAlias = Mapping[datetime, datetime]

_NOBODY: Final = uuid4()
_WORDS: Final = tuple(uuid4().hex for _ in range(20))
_OTHERS: Final = {_NOBODY, *_WORDS}
_EQUALS: Final = {Op.EQ, Op.NEQ, Op.IN, Op.NOT_IN}
_AGE: Final = 240
_AGES: Final = tuple(datetime(year, 1, 1, tzinfo=UTC) for year in range(2400, 9600, _AGE))
_NEAR: Final = timedelta(days=119 * 365)
"""Less than half an age; whatever a statement adds to its instants or takes from them is less, too."""

_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = _FIRST + _NEAR


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
    instants = sorted({*_instants(plan)})
    if len(instants) > len(_AGES) or instants[0] < _FIRST or instants[-1] > _LAST:
        return Question(given)
    others = _Others()
    moved = _moved(plan, dict(zip(instants, _AGES, strict=False)), others)
    return Question((moved, *given[1:]), tuple(map(naive, instants)), others.stand_for)


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
        self._others = [(place, v) for place, v in placed if isinstance(v, UUID | str) and v in _OTHERS]

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


def _goes_by_zone(plan: Plan) -> bool:
    """Whether a statement asks the calendar of the zone for more instants than the plan tells."""
    measures = plan.measures if isinstance(plan, Aggregate) else ()
    return any(leaf.trailing_days is not None for measure in measures for leaf in measure.leaves())


def _instants(plan: Plan) -> Iterator[datetime]:
    """All that a plan tells, but the starts of buckets after the first."""
    span = plan.span if isinstance(plan, Scan) else plan.scan.span
    yield from (span.start, span.end)
    for buckets in _series_of(plan):
        yield from (buckets.starts[0], buckets.end)


def _series_of(plan: Plan) -> tuple[Buckets, ...]:
    match plan:
        case Aggregate(buckets=Buckets() as buckets):
            return (buckets,)
        case CohortPlan(acquisition=acquisition, activity=activity):
            return (acquisition, activity)
        case _:
            return ()


def _moved(plan: Plan, ages: Ages, others: "_Others") -> Plan:
    """The plan about nobody's events, in far-off ages."""
    match plan:
        case Scan():
            return others.of(plan, ages)
        case Aggregate():
            buckets = plan.buckets and _Series.moved(plan.buckets, ages)
            return replace(plan, scan=others.of(plan.scan, ages), buckets=buckets)
        case CohortPlan():
            acquisition, activity = (_Series.moved(each, ages) for each in _series_of(plan))
            return replace(plan, scan=others.of(plan.scan, ages), acquisition=acquisition, activity=activity)
        case PeoplePage():
            return replace(plan, scan=others.of(plan.scan, ages))


class _Others:
    """Stand-ins for what is no instant, each with what it stands for."""

    def __init__(self) -> None:
        self.stand_for: dict[object, object] = {}
        self._words = iter(_WORDS)

    def of(self, scan: Scan, ages: Ages) -> Scan:
        """The scan of nobody's events that meet filters nobody asked for."""
        self.stand_for[_NOBODY] = scan.workspace_id
        span = Span(ages[scan.span.start], ages[scan.span.end])
        filters = tuple(map(self._filter, scan.filters))
        return replace(scan, workspace_id=_NOBODY, span=span, zone="", filters=filters)

    def _filter(self, given: Predicate) -> Predicate:
        if given.op not in _EQUALS:
            return given
        if isinstance(given.value, tuple):
            return replace(given, value=tuple(map(self._word, given.value)))
        return replace(given, value=self._word(given.value))

    def _word(self, value: T) -> T | str:
        if not isinstance(value, str) or (word := next(self._words, None)) is None:
            return value
        self.stand_for[word] = value
        return word


@dataclass(frozen=True, slots=True)
class _Series(Buckets):
    """Buckets as far as a statement asks: their runs, the first start and the end."""

    runs: tuple[Stretch, ...]

    @staticmethod
    def moved(buckets: Buckets, ages: Ages) -> "_Series":
        """All starts move with the first; the last run is as long as may be."""
        runs, first = buckets.stretches(), ages[buckets.starts[0]]
        moved = [replace(run, start=first + (run.start - buckets.starts[0])) for run in runs]
        moved[-1] = replace(moved[-1], count=1)
        return _Series(buckets.unit, (first,), ages[buckets.end], tuple(moved))

    def stretches(self) -> tuple[Stretch, ...]:
        """The runs."""
        return self.runs
