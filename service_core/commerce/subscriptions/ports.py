"""Where subscriptions are kept."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from service_core.commerce.subscriptions.model import SubscriptionDeed, SubscriptionState


class SubscriptionStore(Protocol):
    """The subscriptions of every workspace, state after state; nothing is changed in place."""

    async def add_subscription_facts(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], deeds: Sequence[SubscriptionDeed]
    ) -> None:
        """Keep them; one whose natural key is known changes nothing."""

    async def subscription_states(self, workspace_id: UUID) -> Sequence[SubscriptionState]:
        """Every state but of tests, by subscription, then by time.

        Raises:
            StoreUnavailable: they cannot be read; that is not the same as none.
        """

    async def subscription_deeds(self, workspace_id: UUID) -> Sequence[SubscriptionDeed]:
        """Every deed but of tests, in order of time.

        Raises:
            StoreUnavailable: they cannot be read.
        """
