"""Where conversions wait, and whose turn it is to send them."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from service_core.delivery.postbacks.circuit_breaker import AccountHealth
from service_core.delivery.postbacks.postback import Postback, PostbackQueue, PostbackStatus


class PostbackOutbox(Protocol):
    """The conversions of every workspace, in queues by account; a process at a time sends those of a queue.

    What a removed rule has waiting is skipped, ``rule_inactive``, in the transaction that removes it.
    """

    async def add_postbacks(
        self, postbacks: Sequence[Postback], deduplication_windows: Mapping[UUID, timedelta]
    ) -> None:
        """Keep what rules fired, all or nothing; one whose rule and event are there already changes nothing.

        One that waits is skipped, ``duplicate``, when its rule sends the same ``platform_event_id`` already,
        or has, by an event less than the rule's window earlier or later; tests and others apart.

        Args:
            postbacks: of one workspace.
            windows: rule -> its window.

        Raises:
            StoreUnavailable: nothing was kept.
        """

    async def list_due_queues(self, now: datetime) -> Sequence[PostbackQueue]:
        """Queues that are open, in nobody's hands, and have something to send, the longest due first.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def claim_queue(
        self, queue: PostbackQueue, holder: UUID, now: datetime, until: datetime
    ) -> AccountHealth | None:
        """Have a queue, or have it for longer; None while somebody else does.

        Args:
            queue: which.
            holder: who asks, by an id of its own.
            now: the present.
            until: when it is over for a holder that died.
        """

    async def list_due_postbacks(self, queue: PostbackQueue, now: datetime, limit: int) -> Sequence[Postback]:
        """What is due of a queue, the oldest event first."""

    async def save_results(self, postbacks: Sequence[Postback]) -> None:
        """Write down what became of postbacks of a queue that is held, as they are now.

        One that is final meanwhile stays as it is, but for one that was sent: sent it stays.
        """

    async def list_latest_postbacks(
        self, workspace_id: UUID, limit: int, status: PostbackStatus | None = None
    ) -> Sequence[Postback]:
        """Some of a workspace, the latest first, all that there are or those that stand so.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def release_queue(
        self, queue: PostbackQueue, holder: UUID, health: AccountHealth, not_before: datetime | None
    ) -> None:
        """Let a queue go, if it is still the holder's, and say how it stands.

        Args:
            queue: which.
            holder: who had it.
            state: how it stands.
            not_before: when it is looked at again, if something waits; None as soon as something is due.
        """
