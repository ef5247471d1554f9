"""The store of subscriptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Protocol
from uuid import UUID

from service_core.commerce.subscriptions.lifecycle import LifecycleState, LifecycleStatus
from service_core.commerce.subscriptions.models import (
    SubscriptionPayment,
    SubscriptionState,
    SubscriptionStatus,
)
from service_core.commerce.subscriptions.movements import MovementKind


@dataclass(frozen=True, slots=True)
class MovementQuery:
    """Which movements are summed, and by what.

    Attributes:
        edges: ascending instants; the first bucket lies from the first to before the second. What lies
            before all of them is summed, too.
        group_by: columns that make a group: ``product``, ``provider``, ``plan``. ``currency`` always does.
    """

    workspace_id: UUID
    edges: tuple[datetime, ...]
    group_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MovementSum:
    """The sum of the movements of one kind in a bucket.

    Attributes:
        bucket: its number; -1 for all that lies before the first.
        keys: values of the columns asked for, in their order.
        count: how many movements there are.
    """

    bucket: int
    kind: MovementKind
    keys: tuple[str | None, ...]
    currency: str | None
    count: int
    mrr_delta: Fraction
    active_delta: int
    amount: int


@dataclass(frozen=True, slots=True)
class SubscriptionPage:
    """Subscriptions alive at any time of a span, newest start first, ties by id.

    Attributes:
        start, end: of the span; subscriptions are as they were known at its end.
        status: theirs at its end.
    """

    workspace_id: UUID
    start: datetime
    end: datetime
    limit: int
    offset: int = 0
    provider: str | None = None
    status: SubscriptionStatus | None = None


class SubscriptionStore(Protocol):
    """The subscriptions of every workspace, state after state; nothing is changed in place.

    Test subscriptions are kept and never returned.
    """

    async def add_new_subscription_reports(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], payments: Sequence[SubscriptionPayment]
    ) -> None:
        """Adds states and payments; one whose natural key is stored already changes nothing."""

    async def sum_movements(self, query: MovementQuery) -> Sequence[MovementSum]:
        """Returns the sums of movements by bucket, kind and the requested columns.

        Raises:
            StoreUnavailable: they cannot be read; that is not the same as none.
        """

    async def list_subscriptions(self, page: SubscriptionPage) -> Sequence[LifecycleState]:
        """Returns a page of subscriptions, each with its state at the end of the span.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def count_by_lifecycle_status(
        self, workspace_id: UUID, before: datetime, provider: str | None = None
    ) -> dict[LifecycleStatus, int]:
        """Returns the number of subscriptions by lifecycle status just before an instant.

        Raises:
            StoreUnavailable: they cannot be read.
        """
