"""Sends due notifications. One process at a time holds the claim of a notification."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from service_core.access.models import Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.clock import Clock
from service_core.workspace.notifications.models import (
    Channel,
    DeliveryQueue,
    Notification,
    mark_sent,
    mark_skipped,
    retry_later_or_fail_after_last_attempt,
)
from service_core.workspace.notifications.ports import NotificationOutbox

CLAIM_DURATION: Final = timedelta(minutes=10)
"""How long a claim lasts. A process that dies while it sends leaves its notification to the next one after this time."""

MAX_NOTIFICATIONS: Final = 50
"""Notifications that one run sends at most."""

MAX_CONCURRENT: Final = 8
"""Notifications that one run sends at the same time, so that slow hosts do not hold up the others."""

MAX_CONCURRENT_OF_WORKSPACE: Final = 4
"""Of them, those of one workspace, so that its slow hosts do not hold up other workspaces."""

START_WINDOW: Final = timedelta(seconds=10)
"""How long a run begins to send. What is left waits for the next run, in which other workspaces have their turn."""

_log: Final = logging.getLogger("touchpoint.notifications")


class NotificationRefused(Exception):
    """A notification was not sent, and is tried again.

    Attributes:
        http_status: of the answer, if there was one.
    """

    def __init__(self, reason: str, http_status: int | None = None) -> None:
        super().__init__(reason)
        self.http_status = http_status


class NotificationObsolete(Exception):
    """A notification that is not sent any more, such as an e-mail to somebody who unsubscribed."""


Send = Callable[[Workspace, Notification], Awaitable[int | None]]
"""Sends a notification; returns the HTTP status, if there is one. Raises the two exceptions above."""


@dataclass(frozen=True, slots=True)
class NotificationWorker:
    """Sends what is due in the outbox.

    Attributes:
        outbox: the notifications.
        workspaces: the workspaces of the notifications.
        senders: source type and channel -> what sends it.
        clock: returns the current time.
        queue: whose notifications it takes.
    """

    outbox: NotificationOutbox
    workspaces: WorkspaceCache
    senders: Mapping[tuple[str, Channel], Send]
    clock: Clock
    queue: DeliveryQueue = DeliveryQueue.MESSAGES

    async def send_all_due(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Sends what is due, as long as there is more than one run takes.

        Args:
            is_stopping: whether to begin no further run.

        Raises:
            StoreUnavailable: the outbox cannot be read or written.
        """
        while await self.send_due_notifications() == MAX_NOTIFICATIONS and not is_stopping():
            pass

    async def send_due_notifications(self) -> int:
        """Sends due notifications, each independent of the others; returns how many were sent.

        Raises:
            StoreUnavailable: the outbox cannot be read or written.
        """
        holder, slots, began_at = uuid4(), asyncio.Semaphore(MAX_CONCURRENT), self.clock()
        slots_of_workspace: dict[UUID, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(MAX_CONCURRENT_OF_WORKSPACE)
        )

        async def send_when_free(notification: Notification) -> bool:
            async with slots_of_workspace[notification.workspace_id], slots:
                if self.clock() - began_at >= START_WINDOW:
                    return False
                return await self._claim_and_send(notification, holder)

        due = await self.outbox.list_due_notifications(began_at, MAX_NOTIFICATIONS, queue=self.queue)
        return sum(await gather_or_cancel(*(send_when_free(notification) for notification in due)))

    async def _claim_and_send(self, notification: Notification, holder: UUID) -> bool:
        """Returns whether a notification was sent; False if another process has it."""
        now = self.clock()
        if not await self.outbox.claim_notification(notification.id, holder, now, now + CLAIM_DURATION):
            return False
        result = await self._send_and_mark_result(notification)
        await self.outbox.save_result(result)
        return result.error is None

    async def delete_old_results(self, before: datetime) -> None:
        """Deletes the results of notifications that became final before an instant; that of a request to confirm stays."""
        await self.outbox.delete_final_before(before)

    async def _send_and_mark_result(self, notification: Notification) -> Notification:
        """Returns the notification with the result of one attempt; errors are logged."""
        try:
            workspace = await self.workspaces.find_by_id(notification.workspace_id)
            send = self.senders.get((notification.source_type, notification.channel))
            if workspace is None or send is None:
                return mark_skipped(notification, "Nothing can send it any more", self.clock())
            status = await send(workspace, notification)
        except NotificationObsolete as reason:
            return mark_skipped(notification, str(reason), self.clock())
        except NotificationRefused as fault:
            return retry_later_or_fail_after_last_attempt(
                notification, str(fault), self.clock(), fault.http_status
            )
        except Exception as fault:  # noqa: BLE001 - one failed notification must not end the others
            _log.exception("notification %s was not sent", notification.id)
            return retry_later_or_fail_after_last_attempt(notification, type(fault).__name__, self.clock())
        return mark_sent(notification, self.clock(), status)
