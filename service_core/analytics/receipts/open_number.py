"""Opens a number: its value by the query of `POST /query`, and the records that add up to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.ports import EventReader, StoreUnavailable
from service_core.analytics.query.catalog import Metric, MetricUnit
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import BUCKET, OTHER_GROUP_LABEL, DimensionFilter, MetricQuery
from service_core.analytics.query.record_columns import can_list_records
from service_core.analytics.reads.metric_values import resolve_range_reading_first_event_for_all_time
from service_core.analytics.receipts.schemas import ReceiptRequest
from service_core.analytics.receipts.terms import TermReader, TermRecords, evaluate_terms
from service_core.analytics.rounding import round_decimal
from service_core.kernel.availability import Measured, Measurement
from service_core.kernel.errors import BadRequest
from service_core.kernel.money import currency_decimals
from service_core.kernel.timestamps import format_timestamp

_CURRENCY_UNITS: Final = (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT)
_SECOND_DECIMALS: Final = 3
_DEFAULT_DECIMALS: Final = 6
_ATTEMPTS: Final = 3
"""How often a number is read when events arrive between its value and its records."""


@dataclass(frozen=True, slots=True)
class CellQuery:
    """The query of one number.

    Attributes:
        query: one metric without dimensions; the values of the key are among its filters.
        bucket: start of the bucket; None for the whole range.
        attribution: the attribution it uses.
    """

    query: MetricQuery
    bucket: datetime | None
    attribution: AttributionSettings | None


@dataclass(frozen=True, slots=True)
class OpenNumber:
    """A number with its terms and their records."""

    metric: Metric
    value: Measurement
    terms: Sequence[TermRecords]


async def build_cell_query(
    body: ReceiptRequest,
    caller: Caller,
    queries: MetricQueries,
    models: AttributionModels,
    event_reader: EventReader,
) -> CellQuery:
    """Returns the query of the number that a request names.

    Raises:
        BadRequest: with the code of the invalid field; ``no_receipt`` for a metric whose records cannot be listed.
    """
    plan = body.plan
    date_range = await resolve_range_reading_first_event_for_all_time(plan.date_range, caller, event_reader)
    plan.validate_and_build_metric_query(queries, models, date_range, caller.workspace)
    if body.metric not in plan.metrics:
        raise BadRequest(f"{body.metric!r} is no metric of the plan", "unknown_metric", field="metric")
    alone = plan.model_copy(update={"metrics": [body.metric], "order_by": []})
    query, attribution = alone.validate_and_build_metric_query(queries, models, date_range, caller.workspace)
    _refuse_metric_without_receipt(queries.catalog.metrics[body.metric])
    segment = await queries.read_segment_filters(caller, plan.segment_id, query.metrics)
    bucket = _find_bucket(body, query)
    query = replace(
        query,
        filters=(*query.filters, *segment, *_filters_of_key(body, query)),
        dimensions=(),
        buckets=query.buckets if bucket else None,
        order=(),
        limit=None,
    )
    return CellQuery(query, bucket, attribution)


async def open_number(caller: Caller, queries: MetricQueries, cell: CellQuery) -> OpenNumber:
    """Returns a number with the records that add up to it.

    Raises:
        BadRequest: ``too_many_rows``.
        StoreUnavailable: events kept arriving between the reads of value and records.
    """
    (metric,) = queries.metrics_by_id(cell.query.metrics)
    for _ in range(_ATTEMPTS):
        snapshot = await queries.read_source_states_once(caller, cell.query.metrics)
        result = await queries.execute_marking_unfit_credits_unavailable(caller, cell.query, snapshot)
        value = next((row.values[0] for row in result.rows if row.bucket == cell.bucket), Measured(0))
        terms = await TermReader(caller, queries, cell.query, cell.bucket).read_terms()
        if not isinstance(value, Measured) or _adds_up(metric, value, terms, caller.workspace.currency):
            return OpenNumber(metric, value, terms)
    raise StoreUnavailable


def decimals_of_unit(unit: MetricUnit, currency: str) -> int:
    """Returns how many decimals a value is rounded to."""
    if unit in _CURRENCY_UNITS:
        return currency_decimals(currency)
    return _SECOND_DECIMALS if unit is MetricUnit.SECONDS else _DEFAULT_DECIMALS


def _adds_up(metric: Metric, value: Measured, terms: Sequence[TermRecords], currency: str) -> bool:
    """Whether the formula over the totals of the records gives the value."""
    computed = evaluate_terms(metric.measure, {term.base: term.total for term in terms})
    shown = round_to_json_number_by_unit(value, metric, currency)
    if computed is None or shown is None:
        return computed is None and shown is None
    return round_decimal(computed, decimals_of_unit(metric.unit, currency)) == Decimal(repr(shown))


def _refuse_metric_without_receipt(metric: Metric) -> None:
    if not can_list_records(metric):
        raise BadRequest(
            f"The records behind {metric.id} cannot be listed yet",
            "no_receipt",
            field="metric",
            hint="GET /metrics/catalog says which metrics have a receipt.",
        )


def _find_bucket(body: ReceiptRequest, query: MetricQuery) -> datetime | None:
    """Returns the start of the bucket that the key names; None without one."""
    wanted = body.key.get(BUCKET)
    if wanted is None:
        return None
    starts = query.buckets.starts if query.buckets else ()
    bucket = next((start for start in starts if format_timestamp(start) == wanted), None)
    if bucket is None:
        raise BadRequest(
            "The plan has no such bucket",
            "invalid_parameter",
            field="key.bucket",
            hint="Send `bucket` as the row of POST /query has it, and the same interval.",
        )
    return bucket


def _filters_of_key(body: ReceiptRequest, query: MetricQuery) -> tuple[DimensionFilter, ...]:
    filters = []
    for name, label in body.key.items():
        if name == BUCKET:
            continue
        if name not in query.dimensions:
            raise BadRequest(f"The plan has no dimension {name!r}", "unknown_dimension", field=f"key.{name}")
        if body.plan.top is not None and label == OTHER_GROUP_LABEL:
            raise BadRequest(
                "The rest of the largest groups has no receipt", "no_receipt", field=f"key.{name}"
            )
        filters.append(DimensionFilter(name, value=label))
    return tuple(filters)
