"""`SubscriptionStore` in memory, which defines the promises of the port in readable code."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from fractions import Fraction
from uuid import UUID

from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.subscriptions.lifecycle import LifecycleState, LifecycleStatus, lifecycle_states
from service_core.commerce.subscriptions.models import SubscriptionPayment, SubscriptionState
from service_core.commerce.subscriptions.movements import Movement, MovementKind, subscription_movements
from service_core.commerce.subscriptions.ports import MovementQuery, MovementSum, SubscriptionPage

_SubscriptionKey = tuple[UUID, str, str, str]
"""Workspace, provider, account and subscription."""

_Keys = tuple[str | None, ...]


class MemorySubscriptions:
    """Implements the port `SubscriptionStore`; while ``down`` it cannot be read."""

    def __init__(self) -> None:
        self._states: dict[_SubscriptionKey, dict[str, SubscriptionState]] = defaultdict(dict)
        self._deeds: dict[_SubscriptionKey, dict[str, SubscriptionPayment]] = defaultdict(dict)
        self.down = False

    async def add_subscription_reports(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], payments: Sequence[SubscriptionPayment]
    ) -> None:
        for state in states:
            self._states[_subscription_key(workspace_id, state)].setdefault(state.message_id, state)
        for payment in payments:
            self._deeds[_subscription_key(workspace_id, payment)].setdefault(payment.message_id, payment)

    async def sum_movements(self, plan: MovementQuery) -> list[MovementSum]:
        groups: dict[tuple[int, MovementKind, _Keys, str | None], list[Movement]] = defaultdict(list)
        for movement in self._movements(plan.workspace_id):
            bucket = sum(edge <= movement.at for edge in plan.edges) - 1
            if bucket < len(plan.edges) - 1:
                keys = tuple(getattr(movement, name) for name in plan.group_by)
                groups[bucket, movement.kind, keys, movement.currency].append(movement)
        return [MovementSum(*group, *_sum_movements(movements)) for group, movements in groups.items()]

    async def subscriptions(self, page: SubscriptionPage) -> list[LifecycleState]:
        lifecycles = [
            lifecycle
            for lifecycle in self._known(page.workspace_id, page.end, page.provider)
            if _is_active_after(page.start, lifecycle) and page.status in (None, lifecycle[-1].status)
        ]
        lifecycles.sort(key=_sort_key, reverse=True)
        return [lifecycle[-1] for lifecycle in lifecycles[page.offset : page.offset + page.limit]]

    async def count_by_lifecycle_status(
        self, workspace_id: UUID, at: datetime, provider: str | None = None
    ) -> dict[LifecycleStatus, int]:
        lifecycles = (
            lifecycle
            for lifecycle in self._known(workspace_id, at, provider)
            if _is_active_after(None, lifecycle)
        )
        return dict(Counter(lifecycle[-1].lifecycle_status for lifecycle in lifecycles))

    def _known(
        self, workspace_id: UUID, end: datetime, provider: str | None
    ) -> Iterator[list[LifecycleState]]:
        """Yields the lifecycle states that began before ``end``, for each subscription with any; of all providers for None."""
        self._check()
        for key, states in self._states.items():
            if key[0] == workspace_id and provider in (None, key[1]):
                lifecycle = [state for state in _stances(states) if state.since < end]
                if lifecycle:
                    yield lifecycle

    def _movements(self, workspace_id: UUID) -> Iterator[Movement]:
        self._check()
        for key in {**self._states, **self._deeds}:
            if key[0] == workspace_id:
                payments = [payment for payment in self._deeds.get(key, {}).values() if not payment.test]
                yield from subscription_movements(_stances(self._states.get(key, {})), payments)

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable


def _subscription_key(workspace_id: UUID, told: SubscriptionState | SubscriptionPayment) -> _SubscriptionKey:
    return workspace_id, told.provider, told.account_id, told.subscription_id


def _stances(states: dict[str, SubscriptionState]) -> list[LifecycleState]:
    return list(lifecycle_states(state for state in states.values() if not state.test))


def _is_active_after(start: datetime | None, known: list[LifecycleState]) -> bool:
    """Returns whether a lifecycle was not ended at any time from ``start`` on; with None, at any time at all."""
    ends = [*(state.since for state in known[1:]), None]
    return any(
        state.lifecycle_status is not LifecycleStatus.ENDED and (start is None or end is None or end > start)
        for state, end in zip(known, ends, strict=True)
    )


def _sort_key(known: list[LifecycleState]) -> tuple[datetime, str]:
    """Returns the start (the reported one, else that of the first active state) and the subscription id."""
    state = known[-1].state
    first = next(item.since for item in known if item.lifecycle_status is not LifecycleStatus.ENDED)
    return state.started_at or first, state.subscription_id


def _sum_movements(found: list[Movement]) -> tuple[int, Fraction, int, int]:
    """Returns the count of movements and the sums of MRR, active subscriptions and amounts."""
    mrr = sum((movement.mrr_delta for movement in found), Fraction(0))
    return (
        len(found),
        mrr,
        sum(movement.active_delta for movement in found),
        sum(movement.amount for movement in found),
    )
