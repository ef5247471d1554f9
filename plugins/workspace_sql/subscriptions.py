"""Subscriptions in SQL: what was told of them, and with it how they moved and stood."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database, insert_into
from plugins.workspace_sql.subscription_tables import (
    MOVEMENTS,
    REPORTED_STATES,
    STATUS_INTERVALS,
    SUBSCRIPTION_PAYMENTS,
)
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import (
    LifecycleState,
    LifecycleStatus,
    Movement,
    MovementKind,
    MovementQuery,
    MovementSum,
    StatusPeriod,
    SubscriptionPage,
    SubscriptionPayment,
    SubscriptionState,
    lifecycle_states,
    status_periods,
    subscription_movements,
)

_AT_ONCE: Final = 200
"""Subscriptions whose movements are worked out at a time."""

_EVER: Final = datetime.min.replace(tzinfo=UTC)
_Row = Mapping[Any, Any]
_Fact = TypeVar("_Fact", SubscriptionState, SubscriptionPayment)


class SqlSubscriptions:
    """Implements the port `SubscriptionStore`."""

    _database: Database

    async def add_subscription_reports(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], payments: Sequence[SubscriptionPayment]
    ) -> None:
        """Keep what is new, and what follows from it, in one commit."""
        async with self._database.write(
            f"{REPORTED_STATES.name} {workspace_id}", no_timeout=True
        ) as connection:
            await connection.run_sync(_add, workspace_id, states, payments)

    async def sum_movements(self, plan: MovementQuery) -> list[MovementSum]:
        """Sums of movements, those of worths of different parts added here."""
        async with self._database.read() as connection:
            return _added(await connection.execute(_summed(plan)), len(plan.group_by))

    async def subscriptions(self, page: SubscriptionPage) -> list[LifecycleState]:
        """A page of subscriptions, each by all that was told of it by the end of the span."""
        async with self._database.read() as connection:
            return await connection.run_sync(_page_of, page)

    async def count_by_lifecycle_status(
        self, workspace_id: UUID, at: datetime, provider: str | None = None
    ) -> dict[LifecycleStatus, int]:
        """How many stood how."""
        held = _held(workspace_id, at, provider)
        query = (
            sa.select(STATUS_INTERVALS.c.standing, sa.func.count())
            .where(*held)
            .group_by(STATUS_INTERVALS.c.standing)
        )
        async with self._database.read() as connection:
            return {LifecycleStatus(standing): count for standing, count in await connection.execute(query)}


def _key(told: SubscriptionState | SubscriptionPayment) -> UUID:
    """What a subscription is known by here: one value for provider, account and id."""
    return uuid5(NAMESPACE_URL, f"{told.provider}\n{told.account_id}\n{told.subscription_id}")


def _add(
    connection: sa.Connection,
    workspace_id: UUID,
    states: Sequence[SubscriptionState],
    deeds: Sequence[SubscriptionPayment],
) -> None:
    changed = {
        **_kept(connection, REPORTED_STATES, [_row_of(workspace_id, state) for state in states]),
        **_kept(connection, SUBSCRIPTION_PAYMENTS, [_row_of(workspace_id, deed) for deed in deeds]),
    }
    every = sorted(changed)
    for start in range(0, len(every), _AT_ONCE):
        some = every[start : start + _AT_ONCE]
        known = _facts(connection, SubscriptionState, workspace_id, some)
        done = _facts(connection, SubscriptionPayment, workspace_id, some)
        found = {one: list(lifecycle_states(known[one])) for one in some}
        moved = [
            {**_place(workspace_id, one), "position": position, **_moved_row(movement)}
            for one in some
            for position, movement in enumerate(subscription_movements(found[one], done[one]))
        ]
        stood = [
            {**_place(workspace_id, one), **_phase_row(phase, found[one][0].state)}
            for one in some
            for phase in status_periods(found[one])
        ]
        for table, rows in ((MOVEMENTS, moved), (STATUS_INTERVALS, stood)):
            connection.execute(sa.delete(table).where(*_of(table, workspace_id, some)))
            if rows:
                connection.execute(sa.insert(table), rows)


def _kept(connection: sa.Connection, table: sa.Table, rows: Sequence[_Row]) -> dict[UUID, None]:
    """Keep rows; returns the subscriptions of those that were not kept before."""
    if not rows:
        return {}
    insert = insert_into(connection, table).on_conflict_do_nothing()
    return dict.fromkeys(connection.execute(insert.returning(table.c.subscription), rows).scalars())


def _row_of(workspace_id: UUID, told: SubscriptionState | SubscriptionPayment) -> dict[str, Any]:
    return {**_place(workspace_id, _key(told)), **row_of(told)}


def _place(workspace_id: UUID, subscription: UUID) -> dict[str, Any]:
    return {"workspace_id": workspace_id, "subscription": subscription}


def _moved_row(movement: Movement) -> dict[str, Any]:
    delta = movement.mrr_delta
    return {
        **{name: getattr(movement, name) for name in _SAME_NAMED},
        "kind": movement.kind.value,
        "worth": delta.numerator,
        "parts": delta.denominator,
        "live": movement.active_delta,
    }


_SAME_NAMED: Final = tuple(field.name for field in fields(Movement) if field.name in MOVEMENTS.c)


def _phase_row(phase: StatusPeriod, state: SubscriptionState) -> dict[str, Any]:
    return {**row_of(phase), "provider": state.provider, "subscription_id": state.subscription_id}


def _of(table: sa.Table, workspace_id: UUID, some: Iterable[UUID]) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.workspace_id == workspace_id, table.c.subscription.in_(list(some))


def _facts(
    connection: sa.Connection,
    kind: type[_Fact],
    workspace_id: UUID,
    some: Iterable[UUID],
    *conditions: sa.ColumnElement[bool],
) -> Mapping[UUID, list[_Fact]]:
    """What was told of some subscriptions, tests apart."""
    table = REPORTED_STATES if kind is SubscriptionState else SUBSCRIPTION_PAYMENTS
    query = sa.select(table).where(*_of(table, workspace_id, some), table.c.test.is_(False), *conditions)
    found: defaultdict[UUID, list[_Fact]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        found[row["subscription"]].append(_fact_of(kind, row))
    return found


def _fact_of(kind: type[_Fact], row: _Row) -> _Fact:
    if "identity" in row:
        row = {**row, "identity": tuple(map(tuple, row["identity"]))}
    return value_of(kind, row)


def _page_of(connection: sa.Connection, page: SubscriptionPage) -> list[LifecycleState]:
    listed: Sequence[UUID] = connection.scalars(_listed(page)).all()
    known = _facts(connection, SubscriptionState, page.workspace_id, listed, REPORTED_STATES.c.at < page.end)
    return [_last_before(page.end, known[one]) for one in listed]


def _last_before(end: datetime, states: Iterable[SubscriptionState]) -> LifecycleState:
    return [stance for stance in lifecycle_states(states) if stance.since < end][-1]


def _summed(plan: MovementQuery) -> sa.Select[Any]:
    """Sums by bucket; each bucket is sought by its instants, so nothing of later ones is read."""
    column = MOVEMENTS.c
    bounds = ((-1, _EVER, plan.edges[0]), *((n, *pair) for n, pair in enumerate(pairwise(plan.edges))))
    spans = (
        sa.values(sa.column("bucket", sa.Integer), sa.column("low", Instant), sa.column("high", Instant))
        .data(list(bounds))
        .cte("spans")
    )
    keys = [column[name] for name in plan.group_by]
    group = (spans.c.bucket, column.kind, *keys, column.currency, column.parts)
    sums = (sa.func.sum(value) for value in (column.worth, column.live, column.amount))
    return (
        sa.select(*group, sa.func.count(), *sums)
        .select_from(spans)
        .join(MOVEMENTS, sa.and_(column.at >= spans.c.low, column.at < spans.c.high))
        .where(column.workspace_id == plan.workspace_id)
        .group_by(*group)
    )


def _added(rows: Iterable[Any], width: int) -> list[MovementSum]:
    found: dict[tuple[Any, ...], list[Any]] = {}
    for bucket, kind, *keys, currency, parts, count, worth, live, amount in rows:
        place = bucket, MovementKind(kind), tuple(keys[:width]), currency
        sums = found.setdefault(place, [0, Fraction(0), 0, 0])
        for at, value in enumerate((count, Fraction(int(worth), parts), int(live), int(amount))):
            sums[at] += value
    return [MovementSum(*place, *sums) for place, sums in found.items()]


def _listed(page: SubscriptionPage) -> sa.Select[Any]:
    column = STATUS_INTERVALS.c
    is_alive = sa.or_(column.dead_since.is_(None), column.dead_since > page.start)
    query = sa.select(column.subscription).where(*_held(page.workspace_id, page.end, page.provider), is_alive)
    if page.status is not None:
        query = query.where(column.status == page.status.value)
    order = (column.started_at.desc(), column.subscription_id.desc(), column.subscription)
    return query.order_by(*order).limit(page.limit).offset(page.offset)


def _held(workspace_id: UUID, at: datetime, provider: str | None) -> Iterator[sa.ColumnElement[bool]]:
    """The one phase of each subscription that held just before an instant."""
    column = STATUS_INTERVALS.c
    yield column.workspace_id == workspace_id
    yield column.since < at
    yield sa.or_(column.until.is_(None), column.until >= at)
    if provider is not None:
        yield column.provider == provider
