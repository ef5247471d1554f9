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
        self._payments: dict[_SubscriptionKey, dict[str, SubscriptionPayment]] = defaultdict(dict)
        self.down = False

    async def add_new_subscription_reports(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], payments: Sequence[SubscriptionPayment]
    ) -> None:
        for state in states:
            self._states[_subscription_key(workspace_id, state)].setdefault(state.message_id, state)
        for payment in payments:
            self._payments[_subscription_key(workspace_id, payment)].setdefault(payment.message_id, payment)

    async def sum_movements(self, query: MovementQuery) -> list[MovementSum]:
        groups: dict[tuple[int, MovementKind, _Keys, str | None], list[Movement]] = defaultdict(list)
        for movement in self._movements_of_workspace(query.workspace_id):
            bucket = sum(edge <= movement.at for edge in query.edges) - 1
            if bucket < len(query.edges) - 1:
                keys = tuple(getattr(movement, name) for name in query.group_by)
                groups[bucket, movement.kind, keys, movement.currency].append(movement)
        return [
            MovementSum(*group, *_count_mrr_active_and_amount(movements))
            for group, movements in groups.items()
        ]

    async def list_subscriptions(self, page: SubscriptionPage) -> list[LifecycleState]:
        lifecycles = [
            lifecycle
            for lifecycle in self._lifecycles_known_before(page.workspace_id, page.end, page.provider)
            if _was_active_at_or_after(page.start, lifecycle)
            and page.status in (None, lifecycle[-1].reported_or_expired_status)
        ]
        lifecycles.sort(key=_start_time_and_subscription_id, reverse=True)
        return [lifecycle[-1] for lifecycle in lifecycles[page.offset : page.offset + page.limit]]

    async def count_by_lifecycle_status(
        self, workspace_id: UUID, before: datetime, provider: str | None = None
    ) -> dict[LifecycleStatus, int]:
        lifecycles = (
            lifecycle
            for lifecycle in self._lifecycles_known_before(workspace_id, before, provider)
            if _was_active_at_or_after(None, lifecycle)
        )
        return dict(Counter(lifecycle[-1].lifecycle_status for lifecycle in lifecycles))

    def _lifecycles_known_before(
        self, workspace_id: UUID, end: datetime, provider: str | None
    ) -> Iterator[list[LifecycleState]]:
        """Yields the lifecycle states that began before ``end``, for each subscription with any; of all providers for None."""
        self._raise_if_down()
        for key, states in self._states.items():
            if key[0] == workspace_id and provider in (None, key[1]):
                lifecycle = [state for state in _lifecycle_states_without_tests(states) if state.since < end]
                if lifecycle:
                    yield lifecycle

    def _movements_of_workspace(self, workspace_id: UUID) -> Iterator[Movement]:
        self._raise_if_down()
        for key in {**self._states, **self._payments}:
            if key[0] == workspace_id:
                payments = [payment for payment in self._payments.get(key, {}).values() if not payment.test]
                yield from subscription_movements(
                    _lifecycle_states_without_tests(self._states.get(key, {})), payments
                )

    def _raise_if_down(self) -> None:
        if self.down:
            raise StoreUnavailable


def _subscription_key(
    workspace_id: UUID, report: SubscriptionState | SubscriptionPayment
) -> _SubscriptionKey:
    return workspace_id, report.provider, report.account_id, report.subscription_id


def _lifecycle_states_without_tests(states: dict[str, SubscriptionState]) -> list[LifecycleState]:
    return list(lifecycle_states(state for state in states.values() if not state.test))


def _was_active_at_or_after(start: datetime | None, lifecycle: list[LifecycleState]) -> bool:
    """Returns whether a lifecycle was not ended at any time from ``start`` on; with None, at any time at all."""
    ends = [*(state.since for state in lifecycle[1:]), None]
    return any(
        state.lifecycle_status is not LifecycleStatus.ENDED and (start is None or end is None or end > start)
        for state, end in zip(lifecycle, ends, strict=True)
    )


def _start_time_and_subscription_id(lifecycle: list[LifecycleState]) -> tuple[datetime, str]:
    """Returns the start (the reported one, else that of the first active state) and the subscription id."""
    state = lifecycle[-1].state
    first = next(item.since for item in lifecycle if item.lifecycle_status is not LifecycleStatus.ENDED)
    return state.started_at or first, state.subscription_id


def _count_mrr_active_and_amount(movements: list[Movement]) -> tuple[int, Fraction, int, int]:
    """Returns the count of movements and the sums of MRR, active subscriptions and amounts."""
    mrr = sum((movement.mrr_delta for movement in movements), Fraction(0))
    return (
        len(movements),
        mrr,
        sum(movement.active_delta for movement in movements),
        sum(movement.amount for movement in movements),
    )
