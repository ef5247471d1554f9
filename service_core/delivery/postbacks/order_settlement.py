"""Sends one postback per order: waits until its reports have settled, and takes the value that counts as revenue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from service_core.access.models import Workspace
from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.analytics.ports import ConversionSet
from service_core.analytics.scope import own_conversions_or_builtin_with_triggers
from service_core.delivery.postbacks.conversion_value import order_value_or_event_value
from service_core.delivery.postbacks.order_reports import OrderReportReader
from service_core.delivery.postbacks.outbox import PostbackQueues
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.delivery.postbacks.postback import (
    PENDING_STATES,
    Postback,
    PostbackStatus,
    SkipReason,
    mark_settled,
    mark_skipped,
    missing_value_reason,
)
from service_core.ingestion.consent import is_consent_denied
from service_core.ingestion.event_source import BROWSER, MOBILE_APP, WEB
from service_core.ingestion.models import Event
from service_core.workspace.rules.models import ConversionRule

_END_USER_SOURCES: Final = frozenset({BROWSER, WEB, MOBILE_APP})


class OrderPostback(NamedTuple):
    """A postback that can be sent, with its event and all other reports of its order."""

    postback: Postback
    event: Event
    other_reports: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class SettledBatch:
    """Postbacks that can be sent, and postbacks that wait longer or were skipped."""

    sendable: list[OrderPostback] = field(default_factory=list)
    postponed_or_skipped: list[Postback] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OrderSettlement:
    """Decides when the postbacks of an order are sent, which of them, and with what value.

    Attributes:
        reports: reads the reports of orders.
        queues: the other postbacks of an order.
        settle_time: how long after the latest report of an order its postback is sent.
    """

    reports: OrderReportReader
    queues: PostbackQueues
    settle_time: timedelta

    async def settle_or_postpone(
        self,
        workspace: Workspace,
        sender: ConversionSender,
        rules: Mapping[UUID, ConversionRule],
        due: Sequence[tuple[Postback, Event]],
        now: datetime,
    ) -> SettledBatch:
        """Settles the orders of due postbacks; a postback that waits for no order can be sent.

        Raises:
            StoreUnavailable: something cannot be read.
        """
        batch = SettledBatch([OrderPostback(*each) for each in due if each[0].order_settles_by is None])
        waiting = [each for each in due if each[0].order_settles_by is not None]
        reports_by_event = await self.reports.list_reports_by_event(
            workspace, [event for _, event in waiting]
        )
        stored = await self._stored_postbacks_of_reports(waiting, reports_by_event)
        conversions = own_conversions_or_builtin_with_triggers(workspace.rules, workspace.triggers)
        handled: set[UUID] = set()
        for postback, event in waiting:
            order = _Order(postback, event, reports_by_event[event.seq], stored)
            if postback.order_settled:
                batch.sendable.append(order.with_other_reports(postback))
            elif postback.id not in handled:
                handled |= {each.id for each in order.unsettled}
                rule = rules[postback.rule_id]
                required = rule.platform_event in sender.limits.value_required
                outcome = _OrderOutcome(order, rule, conversions, now, value_required=required)
                outcome.add_to(batch, order.settles_at(self.settle_time))
        return batch

    async def _stored_postbacks_of_reports(
        self, waiting: Sequence[tuple[Postback, Event]], reports_by_event: Mapping[int, Sequence[Event]]
    ) -> Sequence[Postback]:
        """Returns the stored postbacks for all reports of orders that are not settled."""
        event_ids = {
            report.event_id
            for postback, event in waiting
            if not postback.order_settled
            for report in reports_by_event[event.seq]
        }
        return await self.queues.list_postbacks_of_events(waiting[0][0].queue, event_ids) if event_ids else ()


class _Order:
    """A due postback, all reports of its order, and the postbacks that its rule has made for them.

    Args:
        postback: the due postback.
        event: its event.
        reports: all reports of its order.
        stored: postbacks of the same account.
    """

    def __init__(
        self, postback: Postback, event: Event, reports: Sequence[Event], stored: Sequence[Postback]
    ) -> None:
        self.postback, self.reports = postback, reports
        self._events = {(report.event_id, report.timestamp): report for report in (*reports, event)}
        same_rule = (
            each
            for each in stored
            if (each.rule_id, each.is_test) == (postback.rule_id, postback.is_test)
            and (each.event_id, each.event_at) in self._events
        )
        self._by_id = {each.id: each for each in (*same_rule, postback)}

    @property
    def unsettled(self) -> list[Postback]:
        """The postbacks that wait for the order."""
        return [
            each
            for each in self._by_id.values()
            if each.status in PENDING_STATES and each.order_settles_by is not None and not each.order_settled
        ]

    @property
    def is_sent_or_about_to_be(self) -> bool:
        """Whether an earlier postback tells the platform of the order."""
        others = (each for each in self._by_id.values() if each not in self.unsettled)
        return any(each.status in {*PENDING_STATES, PostbackStatus.SENT} for each in others)

    @property
    def is_consent_denied(self) -> bool:
        """Whether any report says that consent was denied."""
        return any(is_consent_denied(report.event_data) for report in self._events.values())

    def settles_at(self, settle_time: timedelta) -> datetime:
        """Returns when the order is settled: a time after its latest report, at most the deadline of its first one."""
        latest = max(report.received_at for report in self._events.values())
        deadlines = (each.order_settles_by for each in self.unsettled if each.order_settles_by is not None)
        return min(latest + settle_time, *deadlines)

    def event_of(self, postback: Postback) -> Event:
        """Returns the event of a postback of the order."""
        return self._events[postback.event_id, postback.event_at]

    def preference(self, postback: Postback) -> tuple[int, datetime, int]:
        """Returns the sort key of postbacks: that of the end user's own event first, a provider's last."""
        return _source_preference(self.event_of(postback))

    def platform_event_id(self, postback: Postback) -> str:
        """Returns the id under which the browser pixel reports the order, if the end user's device reported it."""
        event = self.event_of(postback)
        same_name = [
            report
            for report in self.reports
            if report.event_name == event.event_name and report.source in _END_USER_SOURCES
        ]
        event = min(same_name, key=_source_preference, default=event)
        return event.order_id or event.event_id

    def with_other_reports(self, postback: Postback) -> OrderPostback:
        """Returns a postback with its event and the other reports of the order, the end user's own ones first."""
        event = self.event_of(postback)
        others = sorted((each for each in self.reports if each.seq != event.seq), key=_source_preference)
        return OrderPostback(postback, event, others)


@dataclass(frozen=True, slots=True)
class _OrderOutcome:
    """Decision on the waiting postbacks of an order."""

    order: _Order
    rule: ConversionRule
    conversions: ConversionSet
    now: datetime
    value_required: bool = field(kw_only=True)

    def add_to(self, batch: SettledBatch, settles_at: datetime) -> None:
        """Adds the postback of the order that can be sent, and those that wait longer or are skipped."""
        order = self.order
        if not order.is_sent_or_about_to_be and settles_at > self.now:
            batch.postponed_or_skipped.extend(
                replace(waiting, next_attempt_at=settles_at) for waiting in order.unsettled
            )
            return
        duplicates = order.unsettled
        if not order.is_sent_or_about_to_be:
            chosen, *duplicates = sorted(order.unsettled, key=order.preference)
            self._add_settled_or_skipped(batch, chosen)
        batch.postponed_or_skipped.extend(
            mark_skipped(duplicate, SkipReason.DUPLICATE, self.now) for duplicate in duplicates
        )

    def _add_settled_or_skipped(self, batch: SettledBatch, chosen: Postback) -> None:
        order = self.order
        value = order_value_or_event_value(self.rule, order.event_of(chosen), order.reports, self.conversions)
        settled = mark_settled(chosen, order.platform_event_id(chosen), *value)
        reason = missing_value_reason(value, required=self.value_required)
        if order.is_consent_denied:
            reason = SkipReason.CONSENT_DENIED
        if reason is None:
            batch.sendable.append(order.with_other_reports(settled))
        else:
            batch.postponed_or_skipped.append(mark_skipped(settled, reason, self.now))


def _source_preference(event: Event) -> tuple[int, datetime, int]:
    rank = 0 if event.source in _END_USER_SOURCES else 1 if event.source in TRACKED_SOURCES else 2
    return rank, event.timestamp, event.seq
