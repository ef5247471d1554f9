"""Stores of postbacks: the outbox, the queues from which they are sent, and their status by event."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import record_of, row_of
from plugins.workspace_sql.statements import is_free, time_buckets, upsert
from plugins.workspace_sql.tables import POSTBACK_QUEUES, POSTBACKS
from service_core.plugin import (
    AccountHealth,
    Postback,
    PostbackCount,
    PostbackQueue,
    PostbackStatus,
    PostbackSummary,
    RulePostbackCount,
    SkipReason,
    TimeRange,
    mark_skipped,
)

_ROW: Final = POSTBACKS.c
_QUEUE: Final = POSTBACK_QUEUES.c
_QUEUE_KEY: Final = ("workspace_id", "platform", "account_id")
_OPEN: Final = (PostbackStatus.QUEUED, PostbackStatus.RETRYING)
_SENT_OR_OPEN: Final = (*_OPEN, PostbackStatus.SENT)
_RESULT_COLUMNS: Final = (
    "status", "reason", "attempts", "next_attempt_at", "http_status", "error_code", "request_masked",
    "user_agent", "sent_at", "done_at", "value", "currency", "platform_event_id", "order_settled",
)  # fmt: skip
_MAX_QUEUES: Final = 1_000
_EventTimes = dict[tuple[UUID, str, bool], list[datetime]]


class SqlPostbackOutbox(SqlStore):
    """Implements the port `PostbackOutbox`."""

    async def add_postbacks_skipping_duplicates(
        self, postbacks: Sequence[Postback], deduplication_windows: Mapping[UUID, timedelta]
    ) -> None:
        """Adds new postbacks and marks their queues as due."""
        async with self._database.write(_lock_key(postbacks[0].workspace_id)) as connection:
            await connection.run_sync(_insert_new_postbacks_and_mark_queues, postbacks, deduplication_windows)

    async def list_latest_postbacks(
        self, workspace_id: UUID, limit: int, status: PostbackStatus | None = None
    ) -> list[Postback]:
        """Returns the latest postbacks of a workspace, latest first. Their ids grow with time."""
        query = sa.select(POSTBACKS).where(_ROW.workspace_id == workspace_id)
        if status is not None:
            query = query.where(_ROW.status == status)
        return await self._database.fetch_records(Postback, query.order_by(_ROW.id.desc()).limit(limit))


class SqlPostbackQueues(SqlStore):
    """Implements the port `PostbackQueues`."""

    async def list_due_queues(self, now: datetime) -> list[PostbackQueue]:
        """Returns open queues that no process holds and that are due, longest due first."""
        is_open = sa.or_(_QUEUE.closed_until.is_(None), _QUEUE.closed_until <= now)
        query = (
            sa.select(*(_QUEUE[name] for name in _QUEUE_KEY))
            .where(_QUEUE.next_at <= now, is_free(POSTBACK_QUEUES, now), is_open)
            .order_by(_QUEUE.next_at)
            .limit(_MAX_QUEUES)
        )
        return [PostbackQueue(*row.values()) for row in await self._database.fetch_rows(query)]

    async def claim_or_extend_queue(
        self, queue: PostbackQueue, holder: UUID, now: datetime, until: datetime
    ) -> AccountHealth | None:
        """Claims a queue, and returns the health of its account. Returns None while another process holds it."""
        free = sa.or_(_QUEUE.holder == holder, is_free(POSTBACK_QUEUES, now))
        claim = sa.update(POSTBACK_QUEUES).where(_is_queue(queue), free)
        async with self._database.write() as connection:
            claimed = await connection.execute(claim.values(holder=holder, held_until=until))
            if claimed.rowcount == 0:
                return None
            row = (await connection.execute(sa.select(POSTBACK_QUEUES).where(_is_queue(queue)))).mappings()
            return record_of(AccountHealth, row.one())

    async def list_due_postbacks(self, queue: PostbackQueue, now: datetime, limit: int) -> list[Postback]:
        """Returns the postbacks of a queue that are due, by the time of their event."""
        due = sa.select(POSTBACKS).where(_waits_in(queue), _ROW.next_attempt_at <= now)
        return await self._database.fetch_records(Postback, due.order_by(_ROW.event_at, _ROW.id).limit(limit))

    async def list_postbacks_of_events(
        self, queue: PostbackQueue, event_ids: Collection[str]
    ) -> list[Postback]:
        """Returns all postbacks of events to the account of a queue."""
        same = (_ROW[name] == value for name, value in zip(_QUEUE_KEY, queue, strict=True))
        return await self._database.fetch_records(
            Postback, sa.select(POSTBACKS).where(*same, _ROW.event_id.in_(event_ids)).order_by(_ROW.id)
        )

    async def save_results_unless_finished(self, postbacks: Sequence[Postback]) -> None:
        """Saves results of open postbacks. One that was sent is saved as sent, also if its rule was deleted."""
        async with self._database.write() as connection:
            for postback in postbacks:
                row = row_of(postback)
                result = {name: row[name] for name in _RESULT_COLUMNS}
                if postback.status is PostbackStatus.SENT:
                    result["reason"] = None
                    replaceable = _ROW.status != PostbackStatus.SENT
                else:
                    replaceable = _ROW.status.in_(_OPEN)
                update = sa.update(POSTBACKS).where(_ROW.id == postback.id, replaceable)
                await connection.execute(update.values(result))

    async def release_queue_and_save_health(
        self, queue: PostbackQueue, holder: UUID, health: AccountHealth, not_before: datetime | None
    ) -> None:
        """Releases a queue, and saves the health of its account and when its next postback is due."""
        next_attempt = sa.select(sa.func.min(_ROW.next_attempt_at)).where(_waits_in(queue))
        async with self._database.write(_lock_key(queue.workspace_id)) as connection:
            next_at = await connection.scalar(next_attempt)
            if next_at is not None and not_before is not None:
                next_at = max(next_at, not_before)
            row = {**row_of(health), "holder": None, "held_until": None, "next_at": next_at}
            held = _is_queue(queue) & (_QUEUE.holder == holder)
            await connection.execute(sa.update(POSTBACK_QUEUES).where(held).values(row))


class SqlPostbackReader(SqlStore):
    """Implements the port `PostbackReader`."""

    async def list_postbacks_by_event(
        self, workspace_id: UUID, event_ids: Collection[str]
    ) -> dict[str, list[PostbackSummary]]:
        """Returns the postbacks of events, by event id."""
        query = (
            sa.select(_ROW.event_id, _ROW.rule_id, _ROW.platform, _ROW.status, _ROW.sent_at)
            .where(_ROW.workspace_id == workspace_id, _ROW.event_id.in_(event_ids))
            .order_by(_ROW.created_at, _ROW.id)
        )
        by_event: dict[str, list[PostbackSummary]] = defaultdict(list)
        for row in await self._database.fetch_rows(query):
            by_event[row["event_id"]].append(record_of(PostbackSummary, row))
        return dict(by_event)

    async def count_final_postbacks_by_bucket(
        self, workspace_id: UUID, bucket_edges: Sequence[datetime]
    ) -> list[PostbackCount]:
        """Returns counts of finished postbacks by bucket, without those of tests."""
        buckets = time_buckets(bucket_edges)
        group = (buckets.c.bucket, _ROW.platform, _ROW.status)
        query = (
            sa.select(*group, sa.func.count())
            .select_from(buckets)
            .join(POSTBACKS, sa.and_(_ROW.done_at >= buckets.c.low, _ROW.done_at < buckets.c.high))
            .where(_ROW.workspace_id == workspace_id, sa.not_(_ROW.is_test))
            .group_by(*group)
        )
        return [PostbackCount(*row.values()) for row in await self._database.fetch_rows(query)]

    async def count_final_postbacks_by_rule(
        self, workspace_id: UUID, span: TimeRange
    ) -> list[RulePostbackCount]:
        """Returns counts of finished postbacks by rule, status and reason, without those of tests."""
        reason = sa.case(
            (_ROW.status == PostbackStatus.SKIPPED, _ROW.reason),
            (_ROW.status == PostbackStatus.FAILED, _ROW.error_code),
        )
        group = (_ROW.rule_id, _ROW.status, reason.label("why"))
        query = (
            sa.select(*group, sa.func.count().label("amount"))
            .where(
                _ROW.workspace_id == workspace_id,
                _ROW.done_at >= span.start,
                _ROW.done_at < span.end,
                sa.not_(_ROW.is_test),
            )
            .group_by(*group)
        )
        return [RulePostbackCount(*row.values()) for row in await self._database.fetch_rows(query)]


def skip_open_postbacks_of_rule(connection: sa.Connection, rule_id: UUID, now: datetime) -> None:
    """Skips the open postbacks of a rule that is deleted."""
    skipped = {
        "status": PostbackStatus.SKIPPED,
        "reason": SkipReason.RULE_INACTIVE,
        "next_attempt_at": None,
        "user_agent": None,
        "done_at": now,
    }
    waiting = _ROW.rule_id == rule_id, _ROW.status.in_(_OPEN)
    connection.execute(sa.update(POSTBACKS).where(*waiting).values(skipped))


def _lock_key(workspace_id: UUID) -> str:
    """Returns the lock of transactions that read the outbox of a workspace before they write."""
    return f"{POSTBACKS.name} {workspace_id}"


def _is_queue(queue: PostbackQueue) -> sa.ColumnElement[bool]:
    return sa.and_(*(_QUEUE[name] == value for name, value in zip(_QUEUE_KEY, queue, strict=True)))


def _waits_in(queue: PostbackQueue) -> sa.ColumnElement[bool]:
    same = (_ROW[name] == value for name, value in zip(_QUEUE_KEY, queue, strict=True))
    return sa.and_(*same, _ROW.next_attempt_at.is_not(None))


def _insert_new_postbacks_and_mark_queues(
    connection: sa.Connection, postbacks: Sequence[Postback], windows: Mapping[UUID, timedelta]
) -> None:
    stored = _stored_rule_and_event_ids(connection, postbacks)
    by_key = {(postback.rule_id, postback.event_id): postback for postback in postbacks}
    new = [postback for key, postback in by_key.items() if key not in stored]
    event_times = _sent_or_open_event_times_by_rule_and_platform_event(connection, new)
    added = [
        _skip_if_duplicate_within_window(event_times, postback, windows[postback.rule_id]) for postback in new
    ]
    if added:
        connection.execute(sa.insert(POSTBACKS), [row_of(postback) for postback in added])
    _add_queues_or_advance_next_attempt(
        connection, [postback for postback in added if postback.next_attempt_at is not None]
    )


def _stored_rule_and_event_ids(
    connection: sa.Connection, postbacks: Sequence[Postback]
) -> frozenset[tuple[UUID, str]]:
    query = sa.select(_ROW.rule_id, _ROW.event_id).where(
        _ROW.rule_id.in_({postback.rule_id for postback in postbacks}),
        _ROW.event_id.in_({postback.event_id for postback in postbacks}),
    )
    return frozenset((rule_id, event_id) for rule_id, event_id in connection.execute(query))


def _sent_or_open_event_times_by_rule_and_platform_event(
    connection: sa.Connection, postbacks: Collection[Postback]
) -> _EventTimes:
    """Returns the event times of sent and open postbacks, by rule, platform event id and test flag."""
    query = sa.select(_ROW.rule_id, _ROW.platform_event_id, _ROW.is_test, _ROW.event_at).where(
        _ROW.rule_id.in_({postback.rule_id for postback in postbacks}),
        _ROW.platform_event_id.in_({postback.platform_event_id for postback in postbacks}),
        _ROW.status.in_(_SENT_OR_OPEN),
        sa.not_(_waits_for_order(_ROW)),
    )
    event_times: _EventTimes = defaultdict(list)
    for *key, event_at in connection.execute(query):
        event_times[*key].append(event_at)
    return event_times


def _skip_if_duplicate_within_window(
    event_times: _EventTimes, postback: Postback, window: timedelta
) -> Postback:
    """Returns the postback, skipped if one with the same platform event id is within the window.

    An open postback is added to ``event_times``, unless it waits for its order.
    """
    if postback.next_attempt_at is None:
        return postback
    others = event_times[postback.rule_id, postback.platform_event_id, postback.is_test]
    if any(abs(postback.event_at - event_at) < window for event_at in others):
        return mark_skipped(postback, SkipReason.DUPLICATE, postback.created_at)
    if postback.order_settles_by is None:
        others.append(postback.event_at)
    return postback


def _waits_for_order(columns: Any) -> sa.ColumnElement[bool]:
    is_open = columns.status.in_(_OPEN)
    return sa.and_(is_open, columns.order_settles_by.is_not(None), sa.not_(columns.order_settled))


def _add_queues_or_advance_next_attempt(connection: sa.Connection, postbacks: Iterable[Postback]) -> None:
    """Adds the queues of postbacks, or moves their next attempt to an earlier time."""
    rows = [
        {**dict(zip(_QUEUE_KEY, queue, strict=True)), **row_of(AccountHealth()), "next_at": next_at}
        for queue, next_at in {postback.queue: postback.next_attempt_at for postback in postbacks}.items()
    ]
    if rows:
        connection.execute(
            upsert(connection, POSTBACK_QUEUES, rows[0], updated_values=_earlier_attempt), rows
        )


def _earlier_attempt(given: Any) -> dict[str, Any]:
    later = sa.or_(_QUEUE.next_at.is_(None), _QUEUE.next_at > given.next_at)
    return {"next_at": sa.case((later, given.next_at), else_=_QUEUE.next_at)}
