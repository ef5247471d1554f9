"""Stores of notifications and of the consent of their recipients."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import row_of
from plugins.workspace_sql.statements import insert_if_absent, is_free, matches, upsert
from plugins.workspace_sql.tables import EMAIL_CONSENTS, NOTIFICATIONS
from service_core.plugin import (
    CONFIRM_OCCURRENCE,
    FAILED_CONFIRMATION_PAUSE,
    SOURCE_TYPES_BY_QUEUE,
    DeliveryQueue,
    EmailConsent,
    Notification,
    NotificationStatus,
)

_ROW: Final = NOTIFICATIONS.c


class SqlNotificationOutbox(SqlStore):
    """Implements the port `NotificationOutbox`."""

    async def add_notifications_if_absent(self, notifications: Sequence[Notification]) -> int:
        """Adds notifications; one of the same source, occurrence, channel and target stays. Returns how many were added.

        A request to confirm that was skipped, or that failed a day ago or earlier, is replaced.
        """
        absent, added = await self._list_absent(notifications), 0
        if not absent:
            return 0
        async with self._database.write() as connection:
            for notification in absent:
                if notification.occurrence == CONFIRM_OCCURRENCE:
                    await connection.execute(_delete_replaceable_confirmation(notification))
                insert = insert_if_absent(connection, NOTIFICATIONS).values(row_of(notification))
                added += (await connection.execute(insert.returning(_ROW.id))).first() is not None
        return added

    async def _list_absent(self, notifications: Sequence[Notification]) -> list[Notification]:
        """Returns the notifications without a stored one that stays; without a lock, so the insert looks again."""
        same_occurrences = sa.select(NOTIFICATIONS).where(
            _ROW.source_id.in_({one.source_id for one in notifications}),
            _ROW.occurrence.in_({one.occurrence for one in notifications}),
        )
        stored = {
            _key(one): one for one in await self._database.fetch_records(Notification, same_occurrences)
        }
        return [one for one in notifications if _is_absent_or_replaceable(one, stored.get(_key(one)))]

    async def list_due_notifications(
        self, now: datetime, limit: int, *, queue: DeliveryQueue = DeliveryQueue.MESSAGES
    ) -> list[Notification]:
        """Returns due notifications that no process sends; workspaces take turns, and their sources within them."""
        due_longest = _ROW.next_attempt_at, _ROW.id
        turn_of_source = sa.func.row_number().over(
            partition_by=(_ROW.workspace_id, _ROW.source_id), order_by=due_longest
        )
        due = (
            sa.select(_ROW.id, _ROW.workspace_id, _ROW.next_attempt_at, turn_of_source.label("turn"))
            .where(_ROW.next_attempt_at <= now, is_free(NOTIFICATIONS, now), _is_in_queue(queue))
            .subquery()
        )
        turn_of_workspace = sa.func.row_number().over(
            partition_by=due.c.workspace_id, order_by=(due.c.turn, due.c.next_attempt_at, due.c.id)
        )
        turns = sa.select(due.c.id, turn_of_workspace.label("turn")).subquery()
        chosen = (
            sa.select(NOTIFICATIONS)
            .join(turns, turns.c.id == _ROW.id)
            .order_by(turns.c.turn, *due_longest)
            .limit(limit)
        )
        return await self._database.fetch_records(Notification, chosen)

    async def claim_notification(self, id_: UUID, holder: UUID, now: datetime, until: datetime) -> bool:
        """Claims a due notification; returns False if another process has it or it is final."""
        free = matches(NOTIFICATIONS, id=id_), _ROW.next_attempt_at <= now, is_free(NOTIFICATIONS, now)
        claim = sa.update(NOTIFICATIONS).where(*free).values(holder=holder, held_until=until)
        return await self._database.execute(claim) == 1

    async def save_result(self, notification: Notification) -> None:
        """Saves the result of an attempt, and releases the claim."""
        row = {**row_of(notification), "holder": None, "held_until": None}
        await self._database.execute(
            sa.update(NOTIFICATIONS).where(matches(NOTIFICATIONS, id=row.pop("id"))).values(row)
        )

    async def list_notifications_of_source(
        self, workspace_id: UUID, source_id: UUID, limit: int
    ) -> list[Notification]:
        """Returns the notifications of a source, newest first. Their ids grow with time."""
        own = sa.select(NOTIFICATIONS).where(
            matches(NOTIFICATIONS, workspace_id=workspace_id, source_id=source_id)
        )
        return await self._database.fetch_records(Notification, own.order_by(_ROW.id.desc()).limit(limit))

    async def delete_final_before(self, instant: datetime) -> int:
        """Deletes notifications that became final before an instant, but no request to confirm; returns how many."""
        return await self._database.execute(
            sa.delete(NOTIFICATIONS).where(_ROW.done_at < instant, _ROW.occurrence != CONFIRM_OCCURRENCE)
        )


def _is_in_queue(queue: DeliveryQueue) -> sa.ColumnElement[bool]:
    if queue in SOURCE_TYPES_BY_QUEUE:
        return _ROW.source_type.in_(SOURCE_TYPES_BY_QUEUE[queue])
    return _ROW.source_type.not_in([name for names in SOURCE_TYPES_BY_QUEUE.values() for name in names])


def _key(notification: Notification) -> tuple[UUID, str, str, str]:
    return notification.source_id, notification.occurrence, notification.channel, notification.target


def _is_absent_or_replaceable(wanted: Notification, stored: Notification | None) -> bool:
    if stored is None:
        return True
    if wanted.occurrence != CONFIRM_OCCURRENCE or stored.done_at is None:
        return False
    if stored.status is NotificationStatus.FAILED:
        return stored.done_at <= wanted.created_at - FAILED_CONFIRMATION_PAUSE
    return stored.status is NotificationStatus.SKIPPED


def _delete_replaceable_confirmation(wanted: Notification) -> sa.Delete:
    """Returns the statement that deletes a request to confirm that was skipped, or that failed a day ago or earlier."""
    source_id, occurrence, channel, target = _key(wanted)
    same = matches(NOTIFICATIONS, source_id=source_id, occurrence=occurrence, channel=channel, target=target)
    failed_long_ago = sa.and_(
        _ROW.status == NotificationStatus.FAILED,
        _ROW.done_at <= wanted.created_at - FAILED_CONFIRMATION_PAUSE,
    )
    return sa.delete(NOTIFICATIONS).where(
        same, sa.or_(_ROW.status == NotificationStatus.SKIPPED, failed_long_ago)
    )


class SqlEmailConsents(SqlStore):
    """Implements the port `EmailConsents`."""

    async def get_consents(self, source_id: UUID) -> Mapping[str, EmailConsent]:
        """Returns the consents of a source by address."""
        own = sa.select(EMAIL_CONSENTS).where(EMAIL_CONSENTS.c.source_id == source_id)
        return {one.email: one for one in await self._database.fetch_records(EmailConsent, own)}

    async def save_consent(self, consent: EmailConsent) -> None:
        """Adds or replaces a consent."""
        row = row_of(consent)
        async with self._database.write() as connection:
            await connection.execute(upsert(connection, EMAIL_CONSENTS, row).values(row))
