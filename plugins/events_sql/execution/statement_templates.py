"""Caches SQL text by plan shape: literals are replaced by placeholders and filled in per request.

Building and compiling a statement costs far more than filling in values. So a statement is built for a plan
with placeholder values: each instant becomes a date of its own far in the future, and the workspace, the
currency, the conversion names and the texts of equality filters become random texts. In the parameters of
the compiled statement, a timestamp near a placeholder date stands for the instant of the request shifted by
the same difference; other placeholders stand for their values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar
from uuid import UUID, uuid4

from plugins.events_sql.schema.row_mapping import to_naive_utc
from service_core.plugin import (
    AggregateQuery,
    BucketRun,
    Buckets,
    CohortReaderQuery,
    Condition,
    FilterOperator,
    PeoplePageQuery,
    Predicate,
    QueryScope,
    TimeRange,
)

ParameterValues: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Parameter values by position or by name, depending on the dialect."""

TextAndValues: TypeAlias = tuple[str, ParameterValues]
"""SQL text with parameters, and their values."""

T = TypeVar("T")
Plan: TypeAlias = QueryScope | AggregateQuery | CohortReaderQuery | PeoplePageQuery

_PLACEHOLDER_YEARS_APART: Final = 600
_PLACEHOLDER_DATES: Final = tuple(
    datetime(year, 1, 1, tzinfo=UTC) for year in range(3000, 6600, _PLACEHOLDER_YEARS_APART)
)
"""For the span, and for the first start and the end of up to two series of buckets."""

_PLACEHOLDER_WORKSPACE: Final = uuid4()
_PLACEHOLDER_CURRENCY, _PLACEHOLDER_NAME, *_PLACEHOLDER_TEXTS = (uuid4().hex for _ in range(20))
_PLACEHOLDERS: Final = {_PLACEHOLDER_WORKSPACE, _PLACEHOLDER_CURRENCY, _PLACEHOLDER_NAME, *_PLACEHOLDER_TEXTS}
_EQUALITY_OPERATORS: Final = {FilterOperator.EQ, FilterOperator.NEQ, FilterOperator.IN, FilterOperator.NOT_IN}
_MIN_INSTANT: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_INSTANT: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Instants outside these limits have no template, so that a shifted placeholder date stays unambiguous."""


class TemplateKey(NamedTuple):
    """The arguments of a statement, split into the key of its template and the values of this request.

    Attributes:
        arguments: the arguments with placeholders; the key.
        instants: the instants that the placeholder dates stand for, in order.
        placeholder_values: the values of the other placeholders.
    """

    arguments: tuple[object, ...]
    instants: tuple[datetime, ...] = ()
    placeholder_values: Mapping[object, object] = MappingProxyType({})


def template_key_or_plain_arguments(arguments: tuple[object, ...]) -> TemplateKey:
    """Returns the template key of a statement's arguments, without placeholders where the plan has no template.

    Args:
        arguments: a plan, and plain values without instants.
    """
    plan = arguments[0] if arguments else None
    if not isinstance(
        plan, QueryScope | AggregateQuery | CohortReaderQuery | PeoplePageQuery
    ) or _has_trailing_measures(plan):
        return TemplateKey(arguments)
    instants = tuple(_span_and_bucket_edge_instants(plan))
    if _scope_of_plan(plan).rates is not None or min(instants) < _MIN_INSTANT or max(instants) > _MAX_INSTANT:
        return TemplateKey(arguments)
    placeholders = _Placeholders()
    return TemplateKey(
        (_replace_with_placeholders(plan, placeholders), *arguments[1:]),
        tuple(map(to_naive_utc, instants)),
        placeholders.values,
    )


def is_uncacheable(key: TemplateKey) -> bool:
    """Returns whether a statement is not worth caching: it has the exchange rates of its days, or an instant of the request."""
    plan = key.arguments[0] if key.arguments else None
    if isinstance(plan, AggregateQuery) and _has_conditions_on_instants(plan):
        return True
    scope = getattr(plan, "scope", plan)
    return isinstance(scope, QueryScope) and scope.rates is not None


def _has_conditions_on_instants(plan: AggregateQuery) -> bool:
    """Returns whether a measure counts the rows up to an instant, as those of elapsed days do."""
    return any(
        isinstance(condition, Predicate) and isinstance(condition.value, datetime)
        for measure in plan.measures
        for aggregation in measure.aggregations()
        for condition in aggregation.where
    )


class Template:
    """SQL text with parameter values, some of which are placeholders.

    Args:
        text: the text.
        values: the values.
    """

    def __init__(self, text: str, values: ParameterValues) -> None:
        self._text, self._values = text, values
        placed = list(values.items() if isinstance(values, Mapping) else enumerate(values))
        self._instant_positions = [
            (place, *match) for place, value in placed for match in _placeholder_date_index_and_offset(value)
        ]
        self._placeholder_positions = [
            (place, *match) for place, value in placed for match in _contained_placeholder(value)
        ]

    def fill_with_request_values(self, key: TemplateKey) -> TextAndValues:
        """Returns the text with the values of a request."""
        values: Any = dict(self._values) if isinstance(self._values, Mapping) else list(self._values)
        for place, age, apart in self._instant_positions:
            values[place] = key.instants[age] + apart
        for place, stand_in in self._placeholder_positions:
            values[place] = key.placeholder_values[stand_in]
        return self._text, values


def _placeholder_date_index_and_offset(value: object) -> Iterator[tuple[int, timedelta]]:
    """Yields the index of the placeholder date near a value and the difference to it, if there is one."""
    if isinstance(value, datetime):
        age = (
            value.year - _PLACEHOLDER_DATES[0].year + _PLACEHOLDER_YEARS_APART // 2
        ) // _PLACEHOLDER_YEARS_APART
        if 0 <= age < len(_PLACEHOLDER_DATES):
            yield age, value - to_naive_utc(_PLACEHOLDER_DATES[age])


def _contained_placeholder(value: object) -> Iterator[tuple[object]]:
    """Yields the placeholder that a value is, or is a one-element list of."""
    item = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(item, UUID | str) and item in _PLACEHOLDERS:
        yield (item,)


def _has_trailing_measures(plan: Plan) -> bool:
    """Returns whether a plan has trailing measures, whose windows depend on the time zone."""
    measures = plan.measures if isinstance(plan, AggregateQuery) else ()
    return any(
        aggregation.trailing_days is not None
        for measure in measures
        for aggregation in measure.aggregations()
    )


def _span_and_bucket_edge_instants(plan: Plan) -> Iterator[datetime]:
    """Yields the instants of a plan, except the starts of buckets after the first."""
    span = _scope_of_plan(plan).span
    yield from (span.start, span.end)
    for buckets in _bucket_series(plan):
        yield from (buckets.starts[0], buckets.end)


def _scope_of_plan(plan: Plan) -> QueryScope:
    return plan if isinstance(plan, QueryScope) else plan.scope


def _bucket_series(plan: Plan) -> tuple[Buckets, ...]:
    match plan:
        case AggregateQuery(buckets=Buckets() as buckets):
            return (buckets,)
        case CohortReaderQuery(acquisition=acquisition, activity=activity):
            return (acquisition, activity)
        case _:
            return ()


def _replace_with_placeholders(plan: Plan, placeholders: "_Placeholders") -> Plan:
    """Returns the plan with placeholders instead of its values."""
    match plan:
        case QueryScope():
            return placeholders.replace_scope_values(plan)
        case AggregateQuery():
            buckets = plan.buckets and _MovedBuckets.move(plan.buckets, *_PLACEHOLDER_DATES[2:4])
            return replace(plan, scope=placeholders.replace_scope_values(plan.scope), buckets=buckets)
        case CohortReaderQuery():
            acquisition = _MovedBuckets.move(plan.acquisition, *_PLACEHOLDER_DATES[2:4])
            activity = _MovedBuckets.move(plan.activity, *_PLACEHOLDER_DATES[4:6])
            return replace(
                plan,
                scope=placeholders.replace_scope_values(plan.scope),
                acquisition=acquisition,
                activity=activity,
            )
        case PeoplePageQuery():
            return replace(
                plan,
                scope=placeholders.replace_scope_values(plan.scope),
                person=placeholders.placeholder_for_text_or_same_value(plan.person),
            )


class _Placeholders:
    """Assigns placeholders to the values of a plan other than instants."""

    def __init__(self) -> None:
        self.values: dict[object, object] = {}
        self.free_texts = iter(_PLACEHOLDER_TEXTS)

    def replace_scope_values(self, scope: QueryScope) -> QueryScope:
        """Returns the scope with placeholders."""
        own = scope.conversions
        self.values |= {
            _PLACEHOLDER_WORKSPACE: scope.workspace_id,
            _PLACEHOLDER_CURRENCY: scope.currency,
            _PLACEHOLDER_NAME: sorted(own.names),
        }
        return replace(
            scope,
            workspace_id=_PLACEHOLDER_WORKSPACE,
            span=TimeRange(*_PLACEHOLDER_DATES[:2]),
            currency=_PLACEHOLDER_CURRENCY,
            zone="",
            conversions=replace(own, names=frozenset({_PLACEHOLDER_NAME})),
            filters=tuple(map(self._replace_operands_of_condition, scope.filters)),
        )

    def _replace_operands_of_condition(self, condition: Condition) -> Condition:
        if isinstance(condition, Predicate):
            return self._replace_equality_operands(condition)
        return replace(
            condition, conditions=tuple(map(self._replace_equality_operands, condition.conditions))
        )

    def _replace_equality_operands(self, predicate: Predicate) -> Predicate:
        if predicate.op not in _EQUALITY_OPERATORS:
            return predicate
        if isinstance(predicate.value, tuple):
            return replace(
                predicate, value=tuple(map(self.placeholder_for_text_or_same_value, predicate.value))
            )
        return replace(predicate, value=self.placeholder_for_text_or_same_value(predicate.value))

    def placeholder_for_text_or_same_value(self, value: T) -> T | str:
        """Returns the placeholder of a text; other values, and texts beyond the number of placeholders, are returned unchanged."""
        if not isinstance(value, str) or (word := next(self.free_texts, None)) is None:
            return value
        self.values[word] = value
        return word


@dataclass(frozen=True, slots=True)
class _MovedBuckets(Buckets):
    """Buckets with what statements use: runs of equal length, the first start and the end."""

    moved_runs: tuple[BucketRun, ...]

    @staticmethod
    def move(buckets: Buckets, first: datetime, end: datetime) -> "_MovedBuckets":
        """Returns buckets moved to other instants; the last run is open-ended."""
        moved = [
            replace(run, start=first + (run.start - buckets.starts[0]))
            for run in buckets.runs_of_equal_length()
        ]
        moved[-1] = replace(moved[-1], count=1)
        return _MovedBuckets(buckets.unit, (first,), end, tuple(moved))

    def runs_of_equal_length(self) -> tuple[BucketRun, ...]:
        """Returns the runs."""
        return self.moved_runs
