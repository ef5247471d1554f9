"""Store of subscriptions: reported states and payments, and the MRR movements and status periods computed from them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import RECORDED_AT, record_of, row_of
from plugins.workspace_sql.revenue_tables import (
    MOVEMENTS,
    REPORTED_STATES,
    STATUS_PERIODS,
    SUBSCRIPTION_PAYMENTS,
)
from plugins.workspace_sql.statements import insert_if_absent, time_buckets
from service_core.plugin import (
    LifecycleState,
    LifecycleStatus,
    Movement,
    MovementQuery,
    MovementSum,
    StatusPeriod,
    SubscriptionPage,
    SubscriptionPayment,
    SubscriptionState,
    lifecycle_states,
    status_periods_since_first_alive,
    subscription_movements,
)

_BATCH_SIZE: Final = 200
"""Subscriptions whose movements are computed at a time."""

_BEGINNING_OF_TIME: Final = datetime.min.replace(tzinfo=UTC)
_Row = Mapping[Any, Any]
_Report = TypeVar("_Report", SubscriptionState, SubscriptionPayment)


class SqlSubscriptions(SqlStore):
    """Implements the port `SubscriptionStore`."""

    async def add_new_subscription_reports(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], payments: Sequence[SubscriptionPayment]
    ) -> None:
        """Adds new reports, and replaces what is computed from them, in one transaction."""
        lock = f"{REPORTED_STATES.name} {workspace_id}"
        async with self._database.write(lock, no_timeout=True) as connection:
            now = self._database.clock()
            await connection.run_sync(_insert_reports_and_recompute, workspace_id, states, payments, now)

    async def sum_movements(self, query: MovementQuery) -> list[MovementSum]:
        """Returns sums of movements. Amounts with different denominators are added here."""
        async with self._database.read() as connection:
            return _sum_over_denominators(
                await connection.execute(_movement_sum_query(query)), len(query.group_by)
            )

    async def list_subscriptions(self, page: SubscriptionPage) -> list[LifecycleState]:
        """Returns a page of subscriptions, each with the state reported last before the end of the range."""
        async with self._database.read() as connection:
            return await connection.run_sync(_read_subscription_page, page)

    async def count_by_lifecycle_status(
        self, workspace_id: UUID, before: datetime, provider: str | None = None
    ) -> dict[LifecycleStatus, int]:
        """Returns how many subscriptions had each status just before a time."""
        status = STATUS_PERIODS.c.lifecycle_status
        query = (
            sa.select(status, sa.func.count().label("count"))
            .where(_in_status_period_just_before(workspace_id, before, provider))
            .group_by(status)
        )
        return {row["lifecycle_status"]: row["count"] for row in await self._database.fetch_rows(query)}


def _subscription_uuid(report: SubscriptionState | SubscriptionPayment) -> UUID:
    """Returns the key of a subscription: a digest of provider, account and id."""
    return uuid5(NAMESPACE_URL, f"{report.provider}\n{report.account_id}\n{report.subscription_id}")


def _insert_reports_and_recompute(
    connection: sa.Connection,
    workspace_id: UUID,
    states: Sequence[SubscriptionState],
    payments: Sequence[SubscriptionPayment],
    now: datetime,
) -> None:
    changed = {
        *_insert_new_reports(connection, REPORTED_STATES, workspace_id, states, now),
        *_insert_new_reports(connection, SUBSCRIPTION_PAYMENTS, workspace_id, payments, now),
    }
    recompute_subscriptions(connection, workspace_id, sorted(changed))


def recompute_subscriptions(
    connection: sa.Connection, workspace_id: UUID, subscriptions: Sequence[UUID]
) -> None:
    """Replaces the movements and status periods of subscriptions by those that follow from their reports."""
    for start in range(0, len(subscriptions), _BATCH_SIZE):
        part = list(subscriptions[start : start + _BATCH_SIZE])
        _replace_movements_and_status_periods(connection, workspace_id, part)


def _insert_new_reports(
    connection: sa.Connection, table: sa.Table, workspace_id: UUID, reports: Sequence[Any], now: datetime
) -> frozenset[UUID]:
    """Inserts reports and returns the subscriptions of those that were not stored before."""
    if not reports:
        return frozenset()
    rows = [
        {**_key(workspace_id, _subscription_uuid(report)), **row_of(report), RECORDED_AT: now}
        for report in reports
    ]
    insert = insert_if_absent(connection, table).returning(table.c.subscription)
    return frozenset(connection.execute(insert, rows).scalars())


def _replace_movements_and_status_periods(
    connection: sa.Connection, workspace_id: UUID, subscriptions: list[UUID]
) -> None:
    reported = _reports_by_subscription_without_tests(
        connection, SubscriptionState, workspace_id, subscriptions
    )
    payments = _reports_by_subscription_without_tests(
        connection, SubscriptionPayment, workspace_id, subscriptions
    )
    states = {subscription: list(lifecycle_states(reported[subscription])) for subscription in subscriptions}
    movement_rows = [
        {**_key(workspace_id, subscription), "position": position, **_movement_row(movement)}
        for subscription in subscriptions
        for position, movement in enumerate(
            subscription_movements(states[subscription], payments[subscription])
        )
    ]
    period_rows = [
        {**_key(workspace_id, subscription), **_period_row(period, states[subscription][0].state)}
        for subscription in subscriptions
        for period in status_periods_since_first_alive(states[subscription])
    ]
    for table, rows in ((MOVEMENTS, movement_rows), (STATUS_PERIODS, period_rows)):
        connection.execute(sa.delete(table).where(_is_one_of(table, workspace_id, subscriptions)))
        if rows:
            connection.execute(sa.insert(table), rows)


def _key(workspace_id: UUID, subscription: UUID) -> dict[str, Any]:
    return {"workspace_id": workspace_id, "subscription": subscription}


def _movement_row(movement: Movement) -> dict[str, Any]:
    row = row_of(movement)
    mrr_delta: Fraction = row.pop("mrr_delta")
    return {**row, "mrr_numerator": mrr_delta.numerator, "mrr_denominator": mrr_delta.denominator}


def _period_row(period: StatusPeriod, state: SubscriptionState) -> dict[str, Any]:
    return {**row_of(period), "provider": state.provider, "subscription_id": state.subscription_id}


def _is_one_of(table: sa.Table, workspace_id: UUID, subscriptions: Iterable[UUID]) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.workspace_id == workspace_id, table.c.subscription.in_(list(subscriptions)))


def _reports_by_subscription_without_tests(
    connection: sa.Connection,
    model: type[_Report],
    workspace_id: UUID,
    subscriptions: Iterable[UUID],
    *conditions: sa.ColumnElement[bool],
) -> Mapping[UUID, list[_Report]]:
    """Returns the reports of subscriptions, without those of tests."""
    table = REPORTED_STATES if model is SubscriptionState else SUBSCRIPTION_PAYMENTS
    query = sa.select(table).where(
        _is_one_of(table, workspace_id, subscriptions), table.c.test.is_(False), *conditions
    )
    reports: defaultdict[UUID, list[_Report]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        reports[row["subscription"]].append(record_of(model, row))
    return reports


def _read_subscription_page(connection: sa.Connection, page: SubscriptionPage) -> list[LifecycleState]:
    subscriptions: Sequence[UUID] = connection.scalars(_subscription_page_query(page)).all()
    known = REPORTED_STATES.c.at < page.end
    states = _reports_by_subscription_without_tests(
        connection, SubscriptionState, page.workspace_id, subscriptions, known
    )
    return [_last_state_before(page.end, states[subscription]) for subscription in subscriptions]


def _last_state_before(end: datetime, states: Iterable[SubscriptionState]) -> LifecycleState:
    return [state for state in lifecycle_states(states) if state.since < end][-1]


def _movement_sum_query(plan: MovementQuery) -> sa.Select[Any]:
    """Returns the query for sums by bucket. Each bucket is a range of times, so later rows are not read."""
    column = MOVEMENTS.c
    buckets = time_buckets(plan.edges, (-1, _BEGINNING_OF_TIME, plan.edges[0]))
    keys = [column[name] for name in plan.group_by]
    group = (buckets.c.bucket, column.kind, *keys, column.currency, column.mrr_denominator)
    sums = (sa.func.sum(value) for value in (column.mrr_numerator, column.active_delta, column.amount))
    return (
        sa.select(*group, sa.func.count(), *sums)
        .select_from(buckets)
        .join(MOVEMENTS, sa.and_(column.at >= buckets.c.low, column.at < buckets.c.high))
        .where(column.workspace_id == plan.workspace_id)
        .group_by(*group)
    )


def _sum_over_denominators(rows: Iterable[Any], key_count: int) -> list[MovementSum]:
    """Returns one sum per bucket, kind, keys and currency.

    Args:
        rows: one per denominator.
        key_count: number of keys.
    """
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for bucket, kind, *keys, currency, denominator, count, numerator, active, amount in rows:
        group = bucket, kind, tuple(keys[:key_count]), currency
        total = sums.setdefault(group, [0, Fraction(0), 0, 0])
        values = count, Fraction(int(numerator), denominator), int(active), int(amount)
        for position, value in enumerate(values):
            total[position] += value
    return [MovementSum(*group, *total) for group, total in sums.items()]


def _subscription_page_query(page: SubscriptionPage) -> sa.Select[Any]:
    column = STATUS_PERIODS.c
    is_alive = sa.or_(column.dead_since.is_(None), column.dead_since > page.start)
    had_status = _in_status_period_just_before(page.workspace_id, page.end, page.provider)
    query = sa.select(column.subscription).where(had_status, is_alive)
    if page.status is not None:
        query = query.where(column.status == page.status)
    order = (column.started_at.desc(), column.subscription_id.desc(), column.subscription)
    return query.order_by(*order).limit(page.limit).offset(page.offset)


def _in_status_period_just_before(
    workspace_id: UUID, at: datetime, provider: str | None
) -> sa.ColumnElement[bool]:
    """Returns the condition for the one period of each subscription that contains the time just before ``at``."""
    column = STATUS_PERIODS.c
    conditions = [
        column.workspace_id == workspace_id,
        column.since < at,
        sa.or_(column.until.is_(None), column.until >= at),
    ]
    if provider is not None:
        conditions.append(column.provider == provider)
    return sa.and_(*conditions)
