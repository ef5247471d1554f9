"""`SubscriptionStore` in memory: the readable statement of what its store promises."""

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
        for deed in payments:
            self._deeds[_subscription_key(workspace_id, deed)].setdefault(deed.message_id, deed)

    async def sum_movements(self, plan: MovementQuery) -> list[MovementSum]:
        groups: dict[tuple[int, MovementKind, _Keys, str | None], list[Movement]] = defaultdict(list)
        for movement in self._movements(plan.workspace_id):
            bucket = sum(edge <= movement.at for edge in plan.edges) - 1
            if bucket < len(plan.edges) - 1:
                keys = tuple(getattr(movement, name) for name in plan.group_by)
                groups[bucket, movement.kind, keys, movement.currency].append(movement)
        return [MovementSum(*place, *_sum_movements(found)) for place, found in groups.items()]

    async def subscriptions(self, page: SubscriptionPage) -> list[LifecycleState]:
        found = [
            known
            for known in self._known(page.workspace_id, page.end, page.provider)
            if _is_active_after(page.start, known) and page.status in (None, known[-1].status)
        ]
        found.sort(key=_sort_key, reverse=True)
        return [known[-1] for known in found[page.offset : page.offset + page.limit]]

    async def count_by_lifecycle_status(
        self, workspace_id: UUID, at: datetime, provider: str | None = None
    ) -> dict[LifecycleStatus, int]:
        lives = (known for known in self._known(workspace_id, at, provider) if _is_active_after(None, known))
        return dict(Counter(known[-1].lifecycle_status for known in lives))

    def _known(
        self, workspace_id: UUID, end: datetime, provider: str | None
    ) -> Iterator[list[LifecycleState]]:
        """How every subscription stood before an instant, of those known by then."""
        self._check()
        for place, states in self._states.items():
            if place[0] == workspace_id and provider in (None, place[1]):
                known = [stance for stance in _stances(states) if stance.since < end]
                if known:
                    yield known

    def _movements(self, workspace_id: UUID) -> Iterator[Movement]:
        self._check()
        for place in {**self._states, **self._deeds}:
            if place[0] == workspace_id:
                deeds = [deed for deed in self._deeds.get(place, {}).values() if not deed.test]
                yield from subscription_movements(_stances(self._states.get(place, {})), deeds)

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable


def _subscription_key(workspace_id: UUID, told: SubscriptionState | SubscriptionPayment) -> _SubscriptionKey:
    return workspace_id, told.provider, told.account_id, told.subscription_id


def _stances(states: dict[str, SubscriptionState]) -> list[LifecycleState]:
    return list(lifecycle_states(state for state in states.values() if not state.test))


def _is_active_after(start: datetime | None, known: list[LifecycleState]) -> bool:
    """Whether it was alive at all, or at any time from an instant on."""
    ends = [*(stance.since for stance in known[1:]), None]
    return any(
        stance.lifecycle_status is not LifecycleStatus.ENDED and (start is None or end is None or end > start)
        for stance, end in zip(known, ends, strict=True)
    )


def _sort_key(known: list[LifecycleState]) -> tuple[datetime, str]:
    """When it started, and its id."""
    state = known[-1].state
    first = next(stance.since for stance in known if stance.lifecycle_status is not LifecycleStatus.ENDED)
    return state.started_at or first, state.subscription_id


def _sum_movements(found: list[Movement]) -> tuple[int, Fraction, int, int]:
    worth = sum((movement.mrr_delta for movement in found), Fraction(0))
    return len(found), worth, sum(one.active_delta for one in found), sum(one.amount for one in found)
