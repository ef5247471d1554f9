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

from plugins.workspace_sql.columns import Instant
from plugins.workspace_sql.database import Database, insert_into
from plugins.workspace_sql.subscription_tables import DEEDS, MOVEMENTS, PHASES, STATES
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import (
    Moved,
    Movement,
    MovementKind,
    MovementPlan,
    Phase,
    Stance,
    Standing,
    SubscriptionDeed,
    SubscriptionPage,
    SubscriptionState,
    movements,
    phases,
    stances,
)

_AT_ONCE: Final = 200
"""Subscriptions whose movements are worked out at a time."""

_EVER: Final = datetime.min.replace(tzinfo=UTC)
_Row = Mapping[Any, Any]
_Fact = TypeVar("_Fact", SubscriptionState, SubscriptionDeed)


class SqlSubscriptions:
    """Implements the port `SubscriptionStore`."""

    _database: Database

    async def add_subscription_facts(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], deeds: Sequence[SubscriptionDeed]
    ) -> None:
        """Keep what is new, and what follows from it, in one commit."""
        async with self._database.write(f"{STATES.name} {workspace_id}", unhurried=True) as connection:
            await connection.run_sync(_add, workspace_id, states, deeds)

    async def subscription_movements(self, plan: MovementPlan) -> list[Moved]:
        """Sums of movements, those of worths of different parts added here."""
        async with self._database.read() as connection:
            return _added(await connection.execute(_summed(plan)), len(plan.by))

    async def subscriptions(self, page: SubscriptionPage) -> list[Stance]:
        """A page of subscriptions, each by all that was told of it by the end of the span."""
        async with self._database.read() as connection:
            return await connection.run_sync(_page_of, page)

    async def subscription_standings(
        self, workspace_id: UUID, at: datetime, provider: str | None = None
    ) -> dict[Standing, int]:
        """How many stood how."""
        held = _held(workspace_id, at, provider)
        query = sa.select(PHASES.c.standing, sa.func.count()).where(*held).group_by(PHASES.c.standing)
        async with self._database.read() as connection:
            return {Standing(standing): count for standing, count in await connection.execute(query)}


def _key(told: SubscriptionState | SubscriptionDeed) -> UUID:
    """What a subscription is known by here: one value for provider, account and id."""
    return uuid5(NAMESPACE_URL, f"{told.provider}\n{told.account_id}\n{told.subscription_id}")


def _add(
    connection: sa.Connection,
    workspace_id: UUID,
    states: Sequence[SubscriptionState],
    deeds: Sequence[SubscriptionDeed],
) -> None:
    changed = {
        **_kept(connection, STATES, [_row_of(workspace_id, state) for state in states]),
        **_kept(connection, DEEDS, [_row_of(workspace_id, deed) for deed in deeds]),
    }
    every = sorted(changed)
    for start in range(0, len(every), _AT_ONCE):
        some = every[start : start + _AT_ONCE]
        known = _facts(connection, SubscriptionState, workspace_id, some)
        done = _facts(connection, SubscriptionDeed, workspace_id, some)
        found = {one: list(stances(known[one])) for one in some}
        moved = [
            {**_place(workspace_id, one), "position": position, **_moved_row(movement)}
            for one in some
            for position, movement in enumerate(movements(found[one], done[one]))
        ]
        stood = [
            {**_place(workspace_id, one), **_phase_row(phase, found[one][0].state)}
            for one in some
            for phase in phases(found[one])
        ]
        for table, rows in ((MOVEMENTS, moved), (PHASES, stood)):
            connection.execute(sa.delete(table).where(*_of(table, workspace_id, some)))
            if rows:
                connection.execute(sa.insert(table), rows)


def _kept(connection: sa.Connection, table: sa.Table, rows: Sequence[_Row]) -> dict[UUID, None]:
    """Keep rows; returns the subscriptions of those that were not kept before."""
    if not rows:
        return {}
    insert = insert_into(connection, table).on_conflict_do_nothing()
    return dict.fromkeys(connection.execute(insert.returning(table.c.subscription), rows).scalars())


def _row_of(workspace_id: UUID, told: SubscriptionState | SubscriptionDeed) -> dict[str, Any]:
    return {**_place(workspace_id, _key(told)), **row_of(told)}


def _place(workspace_id: UUID, subscription: UUID) -> dict[str, Any]:
    return {"workspace_id": workspace_id, "subscription": subscription}


def _moved_row(movement: Movement) -> dict[str, Any]:
    row = {name: getattr(movement, name) for name in _MOVED}
    worth = movement.worth
    return {**row, "kind": movement.kind.value, "worth": worth.numerator, "parts": worth.denominator}


_MOVED: Final = tuple(field.name for field in fields(Movement))


def _phase_row(phase: Phase, state: SubscriptionState) -> dict[str, Any]:
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
    table = STATES if kind is SubscriptionState else DEEDS
    query = sa.select(table).where(*_of(table, workspace_id, some), table.c.test.is_(False), *conditions)
    found: defaultdict[UUID, list[_Fact]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        found[row["subscription"]].append(_fact_of(kind, row))
    return found


def _fact_of(kind: type[_Fact], row: _Row) -> _Fact:
    if "identity" in row:
        row = {**row, "identity": tuple(map(tuple, row["identity"]))}
    return value_of(kind, row)


def _page_of(connection: sa.Connection, page: SubscriptionPage) -> list[Stance]:
    listed: Sequence[UUID] = connection.scalars(_listed(page)).all()
    known = _facts(connection, SubscriptionState, page.workspace_id, listed, STATES.c.at < page.end)
    return [_last_before(page.end, known[one]) for one in listed]


def _last_before(end: datetime, states: Iterable[SubscriptionState]) -> Stance:
    return [stance for stance in stances(states) if stance.since < end][-1]


def _summed(plan: MovementPlan) -> sa.Select[Any]:
    """Sums by bucket; each bucket is sought by its instants, so nothing of later ones is read."""
    column = MOVEMENTS.c
    bounds = ((-1, _EVER, plan.edges[0]), *((n, *pair) for n, pair in enumerate(pairwise(plan.edges))))
    spans = (
        sa.values(sa.column("bucket", sa.Integer), sa.column("low", Instant), sa.column("high", Instant))
        .data(list(bounds))
        .cte("spans")
    )
    keys = [column[name] for name in plan.by]
    group = (spans.c.bucket, column.kind, *keys, column.currency, column.parts)
    sums = (sa.func.sum(value) for value in (column.worth, column.live, column.amount))
    return (
        sa.select(*group, sa.func.count(), *sums)
        .select_from(spans)
        .join(MOVEMENTS, sa.and_(column.at >= spans.c.low, column.at < spans.c.high))
        .where(column.workspace_id == plan.workspace_id)
        .group_by(*group)
    )


def _added(rows: Iterable[Any], width: int) -> list[Moved]:
    found: dict[tuple[Any, ...], list[Any]] = {}
    for bucket, kind, *keys, currency, parts, count, worth, live, amount in rows:
        place = bucket, MovementKind(kind), tuple(keys[:width]), currency
        sums = found.setdefault(place, [0, Fraction(0), 0, 0])
        for at, value in enumerate((count, Fraction(int(worth), parts), int(live), int(amount))):
            sums[at] += value
    return [Moved(*place, *sums) for place, sums in found.items()]


def _listed(page: SubscriptionPage) -> sa.Select[Any]:
    column = PHASES.c
    is_alive = sa.or_(column.dead_since.is_(None), column.dead_since > page.start)
    query = sa.select(column.subscription).where(*_held(page.workspace_id, page.end, page.provider), is_alive)
    if page.status is not None:
        query = query.where(column.status == page.status.value)
    order = (column.started_at.desc(), column.subscription_id.desc(), column.subscription)
    return query.order_by(*order).limit(page.limit).offset(page.offset)


def _held(workspace_id: UUID, at: datetime, provider: str | None) -> Iterator[sa.ColumnElement[bool]]:
    """The one phase of each subscription that held just before an instant."""
    column = PHASES.c
    yield column.workspace_id == workspace_id
    yield column.since < at
    yield sa.or_(column.until.is_(None), column.until >= at)
    if provider is not None:
        yield column.provider == provider
