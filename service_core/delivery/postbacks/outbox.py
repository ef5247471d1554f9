"""Ports of the postbacks that wait to be sent to ad platforms, and of the queues they wait in."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from service_core.delivery.postbacks.circuit_breaker import AccountHealth
from service_core.delivery.postbacks.postback import Postback, PostbackQueue, PostbackStatus


class PostbackOutbox(Protocol):
    """The postbacks of every workspace.

    When a rule is deleted, the same transaction skips its open postbacks with the reason ``rule_inactive``.
    """

    async def add_postbacks_skipping_duplicates(
        self, postbacks: Sequence[Postback], deduplication_windows: Mapping[UUID, timedelta]
    ) -> None:
        """Add all postbacks or none. One whose rule and event are known changes nothing.

        An open postback is skipped with the reason ``duplicate`` if its rule has sent the same
        ``platform_event_id``, or will send it, for an event within the window of the rule. Tests and other
        postbacks are compared separately. Postbacks that wait for an order are not compared with each other:
        one of them is chosen when the order is settled.

        Args:
            postbacks: of one workspace.
            deduplication_windows: window by rule.

        Raises:
            StoreUnavailable: nothing was added.
        """

    async def list_latest_postbacks(
        self, workspace_id: UUID, limit: int, status: PostbackStatus | None = None
    ) -> Sequence[Postback]:
        """Return the latest postbacks of a workspace, latest first. ``status`` selects those with a status.

        Raises:
            StoreUnavailable: they cannot be read.
        """


class PostbackQueues(Protocol):
    """One queue of open postbacks per ad account. One process at a time sends those of a queue."""

    async def list_due_queues(self, now: datetime) -> Sequence[PostbackQueue]:
        """Return open queues that are due and that no process holds, longest due first.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def claim_or_extend_queue(
        self, queue: PostbackQueue, holder: UUID, now: datetime, until: datetime
    ) -> AccountHealth | None:
        """Claim a queue, or extend the claim. Returns None while another process holds it.

        Args:
            queue: which.
            holder: an id of the process.
            now: the current time.
            until: when the claim ends if the process dies.
        """

    async def list_due_postbacks(self, queue: PostbackQueue, now: datetime, limit: int) -> Sequence[Postback]:
        """Return the postbacks of a queue that are due, oldest event first."""

    async def list_postbacks_of_events(
        self, queue: PostbackQueue, event_ids: Collection[str]
    ) -> Sequence[Postback]:
        """Return all postbacks of events to the account of a queue, finished ones included."""

    async def save_results_unless_finished(self, postbacks: Sequence[Postback]) -> None:
        """Save the state of postbacks of a queue that the process holds.

        A postback that was finished meanwhile stays as it is, unless the given one was sent.
        """

    async def release_queue_and_save_health(
        self, queue: PostbackQueue, holder: UUID, health: AccountHealth, not_before: datetime | None
    ) -> None:
        """Release a queue if the holder still has it, and save the health of its account.

        Args:
            queue: which.
            holder: who held it.
            health: of the account.
            not_before: when the queue is due again if it has postbacks; None for the time of the first one.
        """
