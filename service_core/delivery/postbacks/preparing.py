"""From what is due to what a sender gets: what has to be known for it is read here, and nowhere kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.model import Workspace
from service_core.changes.ports import Units
from service_core.delivery.postbacks.calls import Waiting
from service_core.delivery.postbacks.conversions import conversion_of
from service_core.delivery.postbacks.customers import Customers, suffices
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.delivery.postbacks.postback import Postback, SkipReason, deferred, outdated, skipped
from service_core.insight.measures import Op, Predicate
from service_core.insight.ports import EventLog, EventPage
from service_core.insight.scans import workspace_scan
from service_core.intake.model import Event
from service_core.kernel.ranges import Span
from service_core.workspace.rules.model import Rule

NOT_FOUND: Final = "event_not_found"
"""The code of an attempt whose event the store does not show: it comes late, or was erased."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What can be sent, and what became of the others."""

    waiting: list[Waiting]
    settled: list[Postback]


@dataclass(frozen=True, slots=True)
class Preparation:
    """Reads rules, events and persons of what is due."""

    units: Units
    events: EventLog
    customers: Customers

    async def prepared(
        self, workspace: Workspace, sender: ConversionSender, due: Sequence[Postback], now: datetime
    ) -> Prepared:
        """Make conversions of what is due.

        Raises:
            StoreUnavailable: something cannot be read.
        """
        rules = await self._active(workspace.id, {one.rule_id for one in due})
        found = Prepared([], [])
        live: list[Postback] = []
        for one in due:
            if one.rule_id not in rules:
                found.settled.append(skipped(one, SkipReason.RULE_INACTIVE, now))
            elif one.event_at + sender.terms.age_limit < now:
                found.settled.append(outdated(one, now))
            else:
                live.append(one)
        events = await self._events(workspace, live) if live else {}
        for one in live:
            event = events.get((one.event_id, one.event_at))
            if event is None:
                found.settled.append(deferred(one, NOT_FOUND, now, sender.terms.age_limit))
                continue
            customer = await self.customers.customer(workspace, event, one.user_agent, sender)
            if suffices(customer, sender):
                found.waiting.append(Waiting(one, conversion_of(one, event, customer)))
            else:
                found.settled.append(skipped(one, SkipReason.NO_MATCH_KEY, now))
        return found

    async def _active(self, workspace_id: UUID, ids: set[UUID]) -> frozenset[UUID]:
        async with self.units.look(workspace_id) as unit:
            known = await unit.resources.some(Rule, ids)
        return frozenset(rule.id for rule in known.values() if rule.active)

    async def _events(
        self, workspace: Workspace, postbacks: Sequence[Postback]
    ) -> Mapping[tuple[str, datetime], Event]:
        """The events of postbacks, by id and time: an id may come again after the time it is unique for."""
        times = [one.event_at for one in postbacks]
        ids = tuple(sorted({one.event_id for one in postbacks}))
        scan = replace(
            workspace_scan(workspace, Span(min(times), max(times) + datetime.resolution)),
            filters=(Predicate("event_id", Op.IN, ids),),
        )
        page = await self.events.page(EventPage(scan, 2 * len(ids), total=False))
        return {(event.event_id, event.timestamp): event for event in page.events}


def outdated_ones(sender: ConversionSender, due: Sequence[Postback], now: datetime) -> Iterator[Postback]:
    """What is too old by now, whatever else keeps it from being sent."""
    return (outdated(one, now) for one in due if one.event_at + sender.terms.age_limit < now)
