"""Conversions on their way to ad platforms, in SQL."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.database import Database, insert_into
from plugins.workspace_sql.postback_tables import POSTBACK_QUEUES, POSTBACKS
from plugins.workspace_sql.values import row_of, value_of
from service_core.plugin import (
    AccountHealth,
    Postback,
    PostbackCount,
    PostbackQueue,
    PostbackStatus,
    PostbackSummary,
    SkipReason,
    mark_skipped,
)

_ROW: Final = POSTBACKS.c
_QUEUE: Final = POSTBACK_QUEUES.c
_KEY: Final = ("workspace_id", "platform", "account_id")
_OPEN: Final = (PostbackStatus.QUEUED.value, PostbackStatus.RETRYING.value)
_TAKEN: Final = (*_OPEN, PostbackStatus.SENT.value)
"""What a later one with the same platform event id is a duplicate of."""
_CHANGING: Final = (
    "status", "reason", "attempts", "next_attempt_at", "http_status", "error_code", "request_masked",
    "user_agent", "sent_at", "done_at",
)  # fmt: skip
_LOOK: Final = 1_000
_Twins = dict[tuple[UUID, str, bool], list[datetime]]


class SqlPostbacks:
    """Implements the ports `Outbox` and `Deliveries`."""

    _database: Database

    async def add_postbacks(
        self, postbacks: Sequence[Postback], deduplication_windows: Mapping[UUID, timedelta]
    ) -> None:
        """Keep what is new, and say that its queues have something to send."""
        async with self._database.write(_turn(postbacks[0].workspace_id)) as connection:
            await connection.run_sync(_add, postbacks, deduplication_windows)

    async def list_due_queues(self, now: datetime) -> list[PostbackQueue]:
        """Open queues in nobody's hands, the longest due first."""
        query = (
            sa.select(*(_QUEUE[name] for name in _KEY))
            .where(_QUEUE.next_at <= now, _is_free(now), _is_open(now))
            .order_by(_QUEUE.next_at)
            .limit(_LOOK)
        )
        async with self._database.read() as connection:
            return [PostbackQueue(*row) for row in await connection.execute(query)]

    async def claim_queue(
        self, queue: PostbackQueue, holder: UUID, now: datetime, until: datetime
    ) -> AccountHealth | None:
        """Have a queue by one conditional statement, and say how it stands."""
        free = sa.or_(_QUEUE.holder == holder, _is_free(now))
        take = sa.update(POSTBACK_QUEUES).where(*_is(queue), free).values(holder=holder, held_until=until)
        async with self._database.write() as connection:
            if (await connection.execute(take)).rowcount == 0:
                return None
            row = (await connection.execute(sa.select(POSTBACK_QUEUES).where(*_is(queue)))).mappings().one()
            return value_of(AccountHealth, row)

    async def list_due_postbacks(self, queue: PostbackQueue, now: datetime, limit: int) -> list[Postback]:
        """What is due, by the time of its event."""
        query = (
            sa.select(POSTBACKS)
            .where(*_of(queue), _ROW.next_attempt_at <= now)
            .order_by(_ROW.event_at, _ROW.id)
            .limit(limit)
        )
        async with self._database.read() as connection:
            return [value_of(Postback, row) for row in (await connection.execute(query)).mappings()]

    async def save_results(self, postbacks: Sequence[Postback]) -> None:
        """Write down what changed; what was sent is so whatever happened to its rule meanwhile."""
        async with self._database.write() as connection:
            for one in postbacks:
                row = row_of(one)
                is_sent = one.status is PostbackStatus.SENT
                still = _ROW.status != one.status.value if is_sent else _ROW.status.in_(_OPEN)
                changed = {name: row[name] for name in _CHANGING} | ({"reason": None} if is_sent else {})
                await connection.execute(sa.update(POSTBACKS).where(_ROW.id == one.id, still).values(changed))

    async def list_latest_postbacks(
        self, workspace_id: UUID, limit: int, status: PostbackStatus | None = None
    ) -> list[Postback]:
        """The latest first."""
        query = sa.select(POSTBACKS).where(_ROW.workspace_id == workspace_id)
        if status is not None:
            query = query.where(_ROW.status == status.value)
        query = query.order_by(_ROW.id.desc()).limit(limit)  # ids grow with time
        async with self._database.read() as connection:
            return [value_of(Postback, row) for row in (await connection.execute(query)).mappings()]

    async def release_queue(
        self, queue: PostbackQueue, holder: UUID, health: AccountHealth, not_before: datetime | None
    ) -> None:
        """Let a queue go, and look when the first of what waits is due."""
        first = sa.select(sa.func.min(_ROW.next_attempt_at)).where(*_of(queue))
        async with self._database.write(_turn(queue.workspace_id)) as connection:
            due = await connection.scalar(first)
            if due is not None and not_before is not None:
                due = max(due, not_before)
            row = {**row_of(health), "holder": None, "held_until": None, "next_at": due}
            own = (*_is(queue), _QUEUE.holder == holder)
            await connection.execute(sa.update(POSTBACK_QUEUES).where(*own).values(row))

    async def list_event_postbacks(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> dict[str, list[PostbackSummary]]:
        """What became of some events."""
        told = (_ROW.event_id, _ROW.rule_id, _ROW.platform, _ROW.status, _ROW.sent_at)
        query = (
            sa.select(*told)
            .where(_ROW.workspace_id == workspace_id, _ROW.event_id.in_(event_ids))
            .order_by(_ROW.created_at, _ROW.id)
        )
        found: dict[str, list[PostbackSummary]] = defaultdict(list)
        async with self._database.read() as connection:
            for event_id, *rest in await connection.execute(query):
                found[event_id].append(PostbackSummary(*rest))
        return dict(found)

    async def count_postbacks(
        self, workspace_id: UUID, bucket_edges: Sequence[datetime]
    ) -> list[PostbackCount]:
        """Counts by bucket; each is sought by its instants."""
        async with self._database.read() as connection:
            return [
                PostbackCount(*row) for row in await connection.execute(_counted(workspace_id, bucket_edges))
            ]


def cancel(connection: sa.Connection, rule_id: UUID, now: datetime) -> None:
    """Skip what a rule has waiting: it is removed."""
    gone = {
        "status": PostbackStatus.SKIPPED.value,
        "reason": SkipReason.RULE_INACTIVE.value,
        "next_attempt_at": None,
        "user_agent": None,
        "done_at": now,
    }
    connection.execute(
        sa.update(POSTBACKS).where(_ROW.rule_id == rule_id, _ROW.status.in_(_OPEN)).values(gone)
    )


def _turn(workspace_id: UUID) -> str:
    """What writes name that read the outbox of a workspace before."""
    return f"{POSTBACKS.name} {workspace_id}"


def _is(queue: PostbackQueue) -> list[sa.ColumnElement[bool]]:
    return [_QUEUE[name] == value for name, value in zip(_KEY, queue, strict=True)]


def _of(queue: PostbackQueue) -> list[sa.ColumnElement[bool]]:
    """What waits in a queue."""
    same = [_ROW[name] == value for name, value in zip(_KEY, queue, strict=True)]
    return [*same, _ROW.next_attempt_at.is_not(None)]


def _is_free(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(_QUEUE.holder.is_(None), _QUEUE.held_until <= now)


def _is_open(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(_QUEUE.closed_until.is_(None), _QUEUE.closed_until <= now)


def _add(connection: sa.Connection, postbacks: Sequence[Postback], windows: Mapping[UUID, timedelta]) -> None:
    known = _known(connection, postbacks)
    new = {(one.rule_id, one.event_id): one for one in postbacks if (one.rule_id, one.event_id) not in known}
    twins = _twins(connection, new.values())
    kept = [_unlike(twins, one, windows[one.rule_id]) for one in new.values()]
    if kept:
        connection.execute(sa.insert(POSTBACKS), [row_of(one) for one in kept])
    _rouse(connection, [one for one in kept if one.next_attempt_at is not None])


def _known(connection: sa.Connection, postbacks: Sequence[Postback]) -> frozenset[tuple[UUID, str]]:
    query = sa.select(_ROW.rule_id, _ROW.event_id).where(
        _ROW.rule_id.in_({one.rule_id for one in postbacks}),
        _ROW.event_id.in_({one.event_id for one in postbacks}),
    )
    return frozenset((rule_id, event_id) for rule_id, event_id in connection.execute(query))


def _twins(connection: sa.Connection, postbacks: Collection[Postback]) -> _Twins:
    """When the events happened that were sent, or will be, with the platform event ids of some postbacks."""
    query = sa.select(_ROW.rule_id, _ROW.platform_event_id, _ROW.is_test, _ROW.event_at).where(
        _ROW.rule_id.in_({one.rule_id for one in postbacks}),
        _ROW.platform_event_id.in_({one.platform_event_id for one in postbacks}),
        _ROW.status.in_(_TAKEN),
    )
    found: _Twins = defaultdict(list)
    for *key, at in connection.execute(query):
        found[*key].append(at)
    return found


def _unlike(twins: _Twins, one: Postback, window: timedelta) -> Postback:
    """The postback, skipped when a twin is there; else it is one itself from now on."""
    if one.next_attempt_at is None:
        return one
    others = twins[one.rule_id, one.platform_event_id, one.is_test]
    if any(abs(one.event_at - at) < window for at in others):
        return mark_skipped(one, SkipReason.DUPLICATE, one.created_at)
    others.append(one.event_at)
    return one


def _rouse(connection: sa.Connection, waiting: Iterable[Postback]) -> None:
    """Say of each queue that something is due, unless something was before."""
    due = {one.queue: one.next_attempt_at for one in waiting}
    if not due:
        return
    insert = insert_into(connection, POSTBACK_QUEUES)
    before, after = _QUEUE.next_at, insert.excluded.next_at
    sooner = sa.case((sa.or_(before.is_(None), before > after), after), else_=before)
    rows = [
        {**dict(zip(_KEY, queue, strict=True)), **row_of(AccountHealth()), "next_at": at}
        for queue, at in due.items()
    ]
    connection.execute(insert.on_conflict_do_update(index_elements=_KEY, set_={"next_at": sooner}), rows)


def _counted(workspace_id: UUID, edges: Sequence[datetime]) -> sa.Select[Any]:
    bounds = [(position, *pair) for position, pair in enumerate(pairwise(edges))]
    columns = (sa.column("bucket", sa.Integer), sa.column("low", Instant), sa.column("high", Instant))
    spans = sa.values(*columns).data(bounds).cte("spans")
    group = (spans.c.bucket, _ROW.platform, _ROW.status)
    return (
        sa.select(*group, sa.func.count())
        .select_from(spans)
        .join(POSTBACKS, sa.and_(_ROW.done_at >= spans.c.low, _ROW.done_at < spans.c.high))
        .where(_ROW.workspace_id == workspace_id, sa.not_(_ROW.is_test))
        .group_by(*group)
    )
