"""`GET /revenue`: revenue, orders and refunds by provider."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import AliasChoices, Field

from service_core.access.models import Caller
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.event_rules.order_deduplication import TRACKED
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter, MetricQuery, SortKey
from service_core.analytics.query.schemas import RefundBasis
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.reads.metric_values import list_unavailable_with_reasons
from service_core.commerce.revenue.schemas import RevenueMetrics, RevenueResponse, RevenueRow
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Measurement, Unavailable, UnavailableReason
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.installed_ids import InstalledIds
from service_core.kernel.operations import operation
from service_core.kernel.time_ranges import ResolvedRange

_FIELDS: Final = tuple(RevenueMetrics.model_fields)
_METRICS: Final = tuple("new_subscriptions" if name == "subscriptions" else name for name in _FIELDS)
"""The metric whose value each field has."""

_NO_PROVIDER_READINGS: Final = (Unavailable(UnavailableReason.NO_REVENUE_PROVIDER),) * len(_METRICS)
_FAILED_READINGS: Final = (Unavailable(UnavailableReason.SOURCE_ERROR),) * len(_METRICS)
_ORDER_BY_PROVIDER: Final = (SortKey("provider", descending=False),)


class RevenueQuery(RangeQuery):
    """Parameters of `GET /revenue`."""

    provider: Annotated[str | None, InstalledIds("revenue_providers")] = Field(
        default=None,
        validation_alias=AliasChoices("provider", "platform"),
        description="One provider; default all of them and what was tracked.",
    )
    refund_basis: RefundBasis = Field(
        "refund", description="Book a refund on its own day or on that of its order."
    )

    def to_single_row_query(self, date_range: ResolvedRange) -> MetricQuery:
        """Returns the query for one row over all providers, or over the requested one."""
        narrowed = (DimensionFilter("provider", value=self.provider),) if self.provider else ()
        return MetricQuery(
            _METRICS,
            date_range,
            filters=narrowed,
            book_refunds_at_order=self.refund_basis == "order",
            include_bots=self.include_bots,
        )


@operation("GET /revenue", tag="marketing", is_aggregate=True)
async def get_revenue(
    query: RevenueQuery, *, caller: Caller, connections: Connections, queries: MetricQueries
) -> RevenueResponse:
    """Revenue, orders, new subscriptions and refunds by provider, and of all together.

    An order that several report counts once: a storefront's word goes before that of a payment provider,
    and both before what was tracked. Null is what is not known; `unavailable` says why.
    """
    date_range = query.resolve_range_or_default(caller)
    metric_query = query.to_single_row_query(date_range)
    snapshot = await queries.read_source_states_once(caller, _METRICS)
    known, table, whole = await gather_or_cancel(
        connections.list_connections_oldest_first(caller.workspace.id),
        queries.execute_marking_unfit_credits_unavailable(
            caller, replace(metric_query, dimensions=("provider",), order=_ORDER_BY_PROVIDER), snapshot
        ),
        queries.execute_marking_unfit_credits_unavailable(caller, metric_query, snapshot),
    )
    no_values = queries.values_of_row_without_data(metric_query, snapshot)
    values_by_platform = {row.labels[0]: row.values for row in table.rows}
    platforms = dict(_connected_or_reporting_platforms(query, known, values_by_platform))
    renderer = _RowRenderer(queries, caller.workspace.currency)
    shown = {
        platform: values_by_platform.get(platform, _values_without_money(connection, no_values))
        for platform, connection in platforms.items()
    }
    has_any = any(readings is not _FAILED_READINGS for readings in shown.values())
    combined = whole.rows[0].values if has_any else _FAILED_READINGS if shown else _NO_PROVIDER_READINGS
    rows = [
        renderer.render_row(platform, connection, shown[platform])
        for platform, connection in platforms.items()
    ]
    return RevenueResponse(
        platforms=sorted(rows, key=_most_revenue_first_key),
        combined=RevenueMetrics(**renderer.round_metrics(combined)),
        refund_basis=query.refund_basis,
        currency=caller.workspace.currency,
        timezone=date_range.zone.key,
        unavailable=list_unavailable_with_reasons(_FIELDS, combined, *shown.values()),
        range=RangeResponse.from_range(date_range),
        complete=snapshot.is_complete_without_failed_source(
            date_range, _METRICS, metric_query.grouped_and_single_value_dimensions
        ),
    )


def _connected_or_reporting_platforms(
    query: RevenueQuery, connections: Sequence[Connection], reported: Mapping[str, Any]
) -> Iterator[tuple[str, Connection | None]]:
    """Yields the providers that are connected, have failed or report money, and tracked events, each with its connection."""
    ours = {one.provider: one for one in connections if one.kind is ProviderKind.REVENUE}
    for name in dict.fromkeys((*ours, *reported)):
        connection = ours.get(name)
        is_read = connection is not None and (connection.is_connected or connection.has_failed)
        if name != TRACKED and query.provider in (None, name) and (is_read or name in reported):
            yield name, connection
    if query.provider is None:
        yield TRACKED, None


def _values_without_money(
    connection: Connection | None, no_values: Sequence[Measurement]
) -> Sequence[Measurement]:
    """Returns the values of a provider that reports no money: those of a connection in error are unknown, not zero."""
    return _FAILED_READINGS if connection is not None and connection.has_failed else no_values


@dataclass(frozen=True, slots=True)
class _RowRenderer:
    """Renders rows of revenue from the measured values."""

    queries: MetricQueries
    currency: str

    def round_metrics(self, readings: Sequence[Measurement]) -> dict[str, Any]:
        """Returns the rounded readings by field of the response."""
        metrics = self.queries.metrics_by_id(_METRICS)
        return {
            field: round_to_json_number_by_unit(reading, metric, self.currency)
            for field, metric, reading in zip(_FIELDS, metrics, readings, strict=True)
        }

    def render_row(
        self, platform: str, connection: Connection | None, readings: Sequence[Measurement]
    ) -> RevenueRow:
        """Returns the row of a provider; one with money but without a connection counts as disconnected."""
        absent = ConnectionStatus.CONNECTED if platform == TRACKED else ConnectionStatus.DISCONNECTED
        return RevenueRow(
            platform=platform,
            currency=self.currency,
            status=connection.status if connection else absent,
            last_synced_at=connection.last_synced_at if connection else None,
            **self.round_metrics(readings),
        )


def _most_revenue_first_key(row: RevenueRow) -> tuple[Any, ...]:
    """Returns the key that sorts by revenue, highest first and unknown last, then by name."""
    return row.revenue is None, -(row.revenue or 0), row.platform


OPERATIONS = (get_revenue,)
