"""`SubscriptionStore` in memory: the readable statement of what its store promises."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from fractions import Fraction
from uuid import UUID

from service_core.commerce.subscriptions.model import SubscriptionDeed, SubscriptionState
from service_core.commerce.subscriptions.movements import Movement, MovementKind, movements
from service_core.commerce.subscriptions.ports import Moved, MovementPlan, SubscriptionPage
from service_core.commerce.subscriptions.standing import Stance, Standing, stances
from service_core.insight.ports import StoreUnavailable

_Place = tuple[UUID, str, str, str]
"""Workspace, provider, account and subscription."""

_Keys = tuple[str | None, ...]


class MemorySubscriptions:
    """Implements the port `SubscriptionStore`; while ``down`` it cannot be read."""

    def __init__(self) -> None:
        self._states: dict[_Place, dict[str, SubscriptionState]] = defaultdict(dict)
        self._deeds: dict[_Place, dict[str, SubscriptionDeed]] = defaultdict(dict)
        self.down = False

    async def add_subscription_facts(
        self, workspace_id: UUID, states: Sequence[SubscriptionState], deeds: Sequence[SubscriptionDeed]
    ) -> None:
        for state in states:
            self._states[_place(workspace_id, state)].setdefault(state.message_id, state)
        for deed in deeds:
            self._deeds[_place(workspace_id, deed)].setdefault(deed.message_id, deed)

    async def subscription_movements(self, plan: MovementPlan) -> list[Moved]:
        groups: dict[tuple[int, MovementKind, _Keys, str | None], list[Movement]] = defaultdict(list)
        for movement in self._movements(plan.workspace_id):
            bucket = sum(edge <= movement.at for edge in plan.edges) - 1
            if bucket < len(plan.edges) - 1:
                keys = tuple(getattr(movement, name) for name in plan.by)
                groups[bucket, movement.kind, keys, movement.currency].append(movement)
        return [Moved(*place, *_sums(found)) for place, found in groups.items()]

    async def subscriptions(self, page: SubscriptionPage) -> list[Stance]:
        found = [
            known
            for known in self._known(page.workspace_id, page.end, page.provider)
            if _lives_after(page.start, known) and page.status in (None, known[-1].status)
        ]
        found.sort(key=_order, reverse=True)
        return [known[-1] for known in found[page.offset : page.offset + page.limit]]

    async def subscription_standings(
        self, workspace_id: UUID, at: datetime, provider: str | None = None
    ) -> dict[Standing, int]:
        lives = (known for known in self._known(workspace_id, at, provider) if _lives_after(None, known))
        return dict(Counter(known[-1].standing for known in lives))

    def _known(self, workspace_id: UUID, end: datetime, provider: str | None) -> Iterator[list[Stance]]:
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
                yield from movements(_stances(self._states.get(place, {})), deeds)

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable


def _place(workspace_id: UUID, told: SubscriptionState | SubscriptionDeed) -> _Place:
    return workspace_id, told.provider, told.account_id, told.subscription_id


def _stances(states: dict[str, SubscriptionState]) -> list[Stance]:
    return list(stances(state for state in states.values() if not state.test))


def _lives_after(start: datetime | None, known: list[Stance]) -> bool:
    """Whether it was alive at all, or at any time from an instant on."""
    ends = [*(stance.since for stance in known[1:]), None]
    return any(
        stance.standing is not Standing.ENDED and (start is None or end is None or end > start)
        for stance, end in zip(known, ends, strict=True)
    )


def _order(known: list[Stance]) -> tuple[datetime, str]:
    """When it started, and its id."""
    state = known[-1].state
    first = next(stance.since for stance in known if stance.standing is not Standing.ENDED)
    return state.started_at or first, state.subscription_id


def _sums(found: list[Movement]) -> tuple[int, Fraction, int, int]:
    worth = sum((movement.worth for movement in found), Fraction(0))
    return len(found), worth, sum(one.live for one in found), sum(one.amount for one in found)
