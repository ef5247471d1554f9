"""Builds conversions for due postbacks from rules, events and persons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.models import Workspace
from service_core.analytics.measures import FilterOperator, Predicate
from service_core.analytics.ports import EventPageQuery, EventReader
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.changes.ports import Transactions
from service_core.delivery.postbacks.account_sender import PreparedPostback
from service_core.delivery.postbacks.build_conversion import build_conversion
from service_core.delivery.postbacks.customer_reader import CustomerReader, has_match_key
from service_core.delivery.postbacks.order_settlement import OrderPostback, OrderSettlement
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.delivery.postbacks.postback import (
    Postback,
    SkipReason,
    mark_skipped,
    mark_too_old,
    schedule_retry_or_fail,
)
from service_core.ingestion.models import Event
from service_core.kernel.time_ranges import TimeRange
from service_core.workspace.rules.models import ConversionRule

EVENT_NOT_FOUND: Final = "event_not_found"
"""The code of an attempt whose event the store does not show: it comes late, or was erased."""


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """Postbacks that can be sent, and postbacks that were finished without sending."""

    sendable: list[PreparedPostback]
    finished: list[Postback]


@dataclass(frozen=True, slots=True)
class PayloadBuilder:
    """Loads rules, events and persons of due postbacks and builds conversions."""

    units: Transactions
    events: EventReader
    customers: CustomerReader
    orders: OrderSettlement

    async def build_conversions_or_finish(
        self, workspace: Workspace, sender: ConversionSender, due_postbacks: Sequence[Postback], now: datetime
    ) -> PreparedBatch:
        """Builds the conversions of due postbacks.

        Raises:
            StoreUnavailable: something cannot be read.
        """
        rules = await self._active_rules(workspace.id, {postback.rule_id for postback in due_postbacks})
        batch = PreparedBatch([], [])
        live: list[Postback] = []
        for postback in due_postbacks:
            if postback.rule_id not in rules:
                batch.finished.append(mark_skipped(postback, SkipReason.RULE_INACTIVE, now))
            elif postback.event_at + sender.limits.age_limit < now:
                batch.finished.append(mark_too_old(postback, now))
            else:
                live.append(postback)
        events = await self._load_events_by_id_and_time(workspace, live) if live else {}
        found: list[tuple[Postback, Event]] = []
        for postback in live:
            event = events.get((postback.event_id, postback.event_at))
            if event is None:
                batch.finished.append(
                    schedule_retry_or_fail(postback, EVENT_NOT_FOUND, now, sender.limits.age_limit)
                )
            else:
                found.append((postback, event))
        settled = await self.orders.settle_or_postpone(workspace, sender, rules, found, now)
        batch.finished.extend(settled.postponed_or_skipped)
        for order_postback in settled.sendable:
            await self._add_conversion_or_skip(workspace, sender, order_postback, now, batch)
        return batch

    async def _add_conversion_or_skip(
        self,
        workspace: Workspace,
        sender: ConversionSender,
        order_postback: OrderPostback,
        now: datetime,
        batch: PreparedBatch,
    ) -> None:
        postback, event, other_reports = order_postback
        customer = await self.customers.load_customer_of_order(
            workspace,
            (event, *other_reports),
            postback.user_agent,
            sender,
            known_until=now if postback.order_settled else event.timestamp,
        )
        if has_match_key(customer, sender):
            conversion = build_conversion(postback, event, customer, other_reports)
            batch.sendable.append(PreparedPostback(postback, conversion))
        else:
            batch.finished.append(mark_skipped(postback, SkipReason.NO_MATCH_KEY, now))

    async def _active_rules(self, workspace_id: UUID, ids: set[UUID]) -> Mapping[UUID, ConversionRule]:
        async with self.units.read(workspace_id) as unit:
            known = await unit.resources.get_many(ConversionRule, ids)
        return {rule.id: rule for rule in known.values() if rule.active}

    async def _load_events_by_id_and_time(
        self, workspace: Workspace, postbacks: Sequence[Postback]
    ) -> Mapping[tuple[str, datetime], Event]:
        """Returns the events of postbacks by id and time, because an id may be reused after its claim expires."""
        times = [postback.event_at for postback in postbacks]
        ids = tuple(sorted({postback.event_id for postback in postbacks}))
        scan = replace(
            scope_for_workspace_without_bots(
                workspace, TimeRange(min(times), max(times) + datetime.resolution)
            ),
            filters=(Predicate("event_id", FilterOperator.IN, ids),),
        )
        page = await self.events.list_events(EventPageQuery(scan, 2 * len(ids), count_total=False))
        return {(event.event_id, event.timestamp): event for event in page.events}


def expired_postbacks(sender: ConversionSender, due: Sequence[Postback], now: datetime) -> Iterator[Postback]:
    """Yields the postbacks that are too old, marked as expired."""
    return (
        mark_too_old(postback, now) for postback in due if postback.event_at + sender.limits.age_limit < now
    )
