"""Questions that differ in nothing but when they look, and whose events: all of them have one text.

Building and compiling a question costs far more than filling in its values. So that is done with
stand-ins: every instant of the question is replaced by the beginning of a far-off age of its own, in
the same order, and the workspace by one that nobody has. Whatever comes out near the beginning of an
age is that instant of the question, moved by as much.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from plugins.events_sql.rows import naive
from service_core.plugin import Aggregate, Buckets, CohortPlan, PeoplePage, Scan, Span, Stretch

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Values of parameters: in order, or by name, as the dialect writes parameters."""

Rendered: TypeAlias = tuple[str, Values]
"""Text with parameters, and their values."""

Plan: TypeAlias = Scan | Aggregate | CohortPlan | PeoplePage
Ages: TypeAlias = Mapping[datetime, datetime]

_NOBODY: Final = UUID("ffffffff-ffff-4fff-bfff-ffffffffffff")
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
        instants: what they stand for, in the order of the ages.
        workspace: whose events it reads.
    """

    given: tuple[object, ...]
    instants: tuple[datetime, ...] = ()
    workspace: UUID | None = None


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
    ages = dict(zip(instants, _AGES, strict=False))
    own = (plan if isinstance(plan, Scan) else plan.scan).workspace_id
    return Question((_moved(plan, ages), *given[1:]), tuple(map(naive, instants)), own)


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
        self._owned = [place for place, value in placed if value == _NOBODY]

    def filled(self, question: Question) -> Rendered:
        """The text with the values of a question."""
        values: Any = dict(self._values) if isinstance(self._values, Mapping) else list(self._values)
        for place, age, apart in self._moved:
            values[place] = question.instants[age] + apart
        for place in self._owned:
            values[place] = question.workspace
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


def _moved(plan: Plan, ages: Ages) -> Plan:
    """The plan about nobody's events, in far-off ages."""
    match plan:
        case Scan():
            return _scan(plan, ages)
        case Aggregate():
            buckets = plan.buckets and _Series.moved(plan.buckets, ages)
            return replace(plan, scan=_scan(plan.scan, ages), buckets=buckets)
        case CohortPlan():
            acquisition, activity = (_Series.moved(each, ages) for each in _series_of(plan))
            return replace(plan, scan=_scan(plan.scan, ages), acquisition=acquisition, activity=activity)
        case PeoplePage():
            return replace(plan, scan=_scan(plan.scan, ages))


def _scan(scan: Scan, ages: Ages) -> Scan:
    span = Span(ages[scan.span.start], ages[scan.span.end])
    return replace(scan, workspace_id=_NOBODY, span=span, zone="")


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
