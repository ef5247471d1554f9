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
from service_core.plugin import EmailConsent, Notification

_ROW: Final = NOTIFICATIONS.c


class SqlNotificationOutbox(SqlStore):
    """Implements the port `NotificationOutbox`."""

    async def add_notifications_if_absent(self, notifications: Sequence[Notification]) -> int:
        """Adds notifications; one of the same source, occurrence, channel and target stays. Returns how many were added."""
        added = 0
        async with self._database.write() as connection:
            for notification in notifications:
                insert = insert_if_absent(connection, NOTIFICATIONS).values(row_of(notification))
                added += (await connection.execute(insert.returning(_ROW.id))).first() is not None
        return added

    async def list_due_notifications(self, now: datetime, limit: int) -> list[Notification]:
        """Returns the notifications whose next attempt is due and which no process sends, longest due first."""
        due = sa.select(NOTIFICATIONS).where(_ROW.next_attempt_at <= now, is_free(NOTIFICATIONS, now))
        return await self._database.fetch_records(
            Notification, due.order_by(_ROW.next_attempt_at, _ROW.id).limit(limit)
        )

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
        """Deletes notifications that became final before an instant; returns how many."""
        return await self._database.execute(sa.delete(NOTIFICATIONS).where(_ROW.done_at < instant))


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
