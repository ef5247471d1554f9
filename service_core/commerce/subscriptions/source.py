"""Evaluates subscriptions for queries: movements by bucket, and totals at the end of each bucket."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias

from service_core.access.models import Workspace
from service_core.analytics.connections.models import ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.measures import Operand, Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, StoreUnavailable
from service_core.analytics.query.row_grid import Row, RowGrid, bucket_edges_within_span
from service_core.analytics.query.sources import SourceState
from service_core.commerce.subscriptions.fx_buckets import FxBuckets
from service_core.commerce.subscriptions.movements import MovementKind
from service_core.commerce.subscriptions.ports import MovementQuery, MovementSum, SubscriptionStore
from service_core.commerce.sync.freshness import PollStates, polled_through
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.clock import Clock

_GROUP_COLUMNS: Final = ("product", "provider", "plan")
_MRR_COLUMNS: Final = {
    MovementKind.NEW: "mrr_new",
    MovementKind.EXPANSION: "mrr_expansion",
    MovementKind.CONTRACTION: "mrr_contraction",
    MovementKind.CHURN: "mrr_churn",
    MovementKind.REACTIVATION: "mrr_reactivation",
}
_COUNT_COLUMNS: Final = {
    MovementKind.NEW: "new_subscriptions",
    MovementKind.CHURN: "churned_subscriptions",
    MovementKind.TRIAL_STARTED: "trials_started",
    MovementKind.TRIAL_ENDED: "trials_ended",
    MovementKind.TRIAL_CONVERTED: "trials_converted",
    MovementKind.FAILED_PAYMENT: "failed_payments",
}
_NO_MONEY: Final = dict.fromkeys(("mrr", "arr", *_MRR_COLUMNS.values(), "charged"), Fraction(0))
_MONTHS: Final = 12

Sum: TypeAlias = tuple[str, Fraction, Fraction | None]
"""A column of money, what is added to it, and what a unit of that is worth; None when no rate is known."""


@dataclass(frozen=True, slots=True)
class SubscriptionSource:
    """Evaluates aggregations over `Relation.SUBSCRIPTIONS`; an end in the future has not happened yet."""

    store: SubscriptionStore
    connections: Connections
    poll_states: PollStates
    clock: Clock

    @property
    def relations(self) -> frozenset[Relation]:
        """Returns the relation of subscriptions."""
        return frozenset({Relation.SUBSCRIPTIONS})

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns the aggregations; MRR is an exact fraction of minor units.

        Raises:
            StoreUnavailable: subscriptions cannot be read.
        """
        grid = RowGrid(query, Relation.SUBSCRIPTIONS)
        used = grid.names_of_used_columns()
        group_by = tuple(name for name in _GROUP_COLUMNS if name in used)
        buckets = FxBuckets(query.scope, bucket_edges_within_span(query, self.clock() + datetime.resolution))
        movements = await self.store.sum_movements(
            MovementQuery(query.scope.workspace_id, buckets.interval_starts, group_by)
        )
        for bucket, row in _running_totals_by_bucket(movements, group_by, buckets):
            grid.add_row_if_counted(
                row, query.buckets.starts[bucket] if query.buckets else None, skip_zeros=True
            )
        return grid.to_result_with_zero_row_if_ungrouped()

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the state: available while a revenue provider is connected and none has failed, with a state per provider.

        Data of a provider that only sends webhooks is complete up to now, that of a polled one up to its last poll.
        """
        try:
            known = await self.connections.list_connections_oldest_first(workspace.id)
            reads = await self.poll_states.states_by_provider(workspace.id)
        except StoreUnavailable:
            return _unavailable(now, UnavailableReason.SOURCE_ERROR)
        ours = [connection for connection in known if connection.kind is ProviderKind.REVENUE]
        live: dict[tuple[str, Operand], SourceState] = {
            ("provider", connection.provider): SourceState(
                polled_through(reads.get(connection.provider), now)
            )
            for connection in ours
            if connection.is_connected
        }
        if any(connection.has_failed for connection in ours):
            return replace(_unavailable(now, UnavailableReason.SOURCE_ERROR), per_value=live)
        if not live:
            return _unavailable(now, UnavailableReason.NO_REVENUE_PROVIDER)
        return SourceState(min(state.watermark for state in live.values()), per_value=live)


def _unavailable(now: datetime, reason: UnavailableReason) -> SourceState:
    return SourceState(now, {Relation.SUBSCRIPTIONS: reason})


def _running_totals_by_bucket(
    moved: Iterable[MovementSum], by: Sequence[str], fx_buckets: FxBuckets
) -> Iterator[tuple[int, Row]]:
    """Yields the rows of each bucket, from the movements before and in it."""
    groups: dict[tuple[Any, ...], dict[int, list[MovementSum]]] = defaultdict(lambda: defaultdict(list))
    for movement in moved:
        groups[*movement.keys, movement.currency][
            fx_buckets.bucket_index_or_minus_one_before_first(movement)
        ].append(movement)
    for group_key, by_bucket in groups.items():
        named = dict(zip((*by, "currency"), group_key, strict=True))
        total, live = _add_mrr_and_active_count(by_bucket[-1], Fraction(0), 0)
        for bucket in range(fx_buckets.bucket_count):
            at_start = live
            here = by_bucket.get(bucket, [])
            total, live = _add_mrr_and_active_count(here, total, live)
            if here or live or total:
                counts = {
                    **_count_by_metric_column(here),
                    "active_subscriptions": live,
                    "active_at_start": at_start,
                }
                standing = total, fx_buckets.rate_at_bucket_end(bucket, named["currency"])
                for row in _split_by_known_fx_rate(
                    counts, [*_totals_at_bucket_end(*standing), *_mrr_changes_and_charges(here, fx_buckets)]
                ):
                    yield bucket, {**named, **row}


def _add_mrr_and_active_count(
    moved: Iterable[MovementSum], mrr: Fraction, active_count: int
) -> tuple[Fraction, int]:
    for movement in moved:
        mrr, active_count = mrr + movement.mrr_delta, active_count + movement.active_delta
    return mrr, active_count


def _totals_at_bucket_end(total: Fraction, rate: Fraction | None) -> Iterator[Sum]:
    """Yields MRR and ARR at the end of a bucket."""
    yield "mrr", total, rate
    yield "arr", _MONTHS * total, rate


def _mrr_changes_and_charges(moved: Iterable[MovementSum], fx_buckets: FxBuckets) -> Iterator[Sum]:
    """Yields the amounts of the movements of a bucket."""
    for movement in moved:
        if movement.kind in _MRR_COLUMNS:
            yield _MRR_COLUMNS[movement.kind], movement.mrr_delta, fx_buckets.rate_at_movement(movement)
        if movement.kind is MovementKind.CHARGE:
            yield "charged", Fraction(movement.amount), fx_buckets.rate_at_movement(movement)


def _count_by_metric_column(moved: Iterable[MovementSum]) -> dict[str, int]:
    """Returns the number of movements of each kind."""
    counts = dict.fromkeys(_COUNT_COLUMNS.values(), 0)
    for movement in moved:
        if movement.kind in _COUNT_COLUMNS:
            counts[_COUNT_COLUMNS[movement.kind]] += movement.count
    return counts


def _split_by_known_fx_rate(counts: Mapping[str, int], sums: Iterable[Sum]) -> Iterator[Row]:
    """Yields a row of converted amounts, and one of amounts without an exchange rate if there are any."""
    known, unknown = dict(_NO_MONEY), dict(_NO_MONEY)
    for column, amount, rate in sums:
        if rate is None:
            unknown[column] += amount
        else:
            known[column] += amount * rate
    yield {**counts, **known, "missing_fx_rate": False}
    if any(unknown.values()):
        yield {**dict.fromkeys(counts, 0), **unknown, "missing_fx_rate": True}
