"""Matches events against conversion rules and builds postbacks. Pure functions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from service_core.analytics.connections.models import Connection, ConnectionStatus
from service_core.analytics.query.evaluate_predicate import value_matches
from service_core.analytics.query.parse_filters import parse_operand_for_operator
from service_core.delivery.postbacks.conversion_value import conversion_value
from service_core.delivery.postbacks.event_properties import event_value_as_api_shows_it
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.delivery.postbacks.postback import (
    Postback,
    SkipReason,
    mark_skipped,
    missing_value_reason,
)
from service_core.ingestion.consent import is_consent_denied
from service_core.ingestion.models import Event
from service_core.ingestion.pipeline import RuleCandidate
from service_core.kernel.ids import new_id
from service_core.workspace.rules.models import ConversionRule, RuleCondition
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT
from service_core.workspace.rules.schemas import ANY_SOURCE

MAX_SETTLE_TIME: Final = timedelta(minutes=10)
"""Longest time between the first report of an order and its postback."""

_CODE: Final = "invalid_filter"


def active_rule_matches(rule: ConversionRule, event: Event) -> bool:
    """Returns whether an event matches the rule."""
    return (
        rule.active
        and event.event_name == rule.trigger_event
        and rule.trigger_event_source in {ANY_SOURCE, event.source}
        and not event.is_bot
        and not event.is_test
        and all(_condition_matches(condition, event) for condition in rule.conditions)
    )


def build_queued_or_skipped_postback(
    rule: ConversionRule,
    candidate: RuleCandidate,
    sender: ConversionSender,
    connections: Sequence[Connection],
    now: datetime,
    *,
    settle_time: timedelta = timedelta(),
) -> Postback:
    """Returns the postback of a matching event: to be sent, or skipped with a reason.

    Args:
        rule: the rule that the event matches.
        candidate: the event.
        sender: the sender of the rule's platform.
        connections: the connections of the workspace.
        now: the current time.
        settle_time: how long a postback with an order or payment id waits for other reports of its order; 0 for not.
    """
    event = candidate.event
    waits = bool(settle_time) and (event.order_id or event.payment_id) is not None
    value, currency = conversion_value(rule, event)
    postback = Postback(
        id=new_id(),
        workspace_id=rule.workspace_id,
        rule_id=rule.id,
        event_id=event.event_id,
        event_at=event.timestamp,
        platform=rule.platform,
        account_id=rule.ad_account_id,
        asset_id=rule.asset_id,
        platform_event=_platform_event_name(rule),
        platform_event_id=event.order_id or event.event_id,
        created_at=now,
        next_attempt_at=now + settle_time if waits else now,
        is_custom=rule.platform_event == CUSTOM_EVENT,
        is_test=rule.test_mode,
        test_code=rule.test_event_code if rule.test_mode else None,
        value=value if currency else None,
        currency=None if value is None else currency,
        user_agent=candidate.user_agent,
        order_settles_by=now + max(MAX_SETTLE_TIME, settle_time) if waits else None,
    )
    if is_consent_denied(event.event_data):
        return mark_skipped(postback, SkipReason.CONSENT_DENIED, now)
    if not is_connected(connections, rule.platform):
        return mark_skipped(postback, SkipReason.NOT_CONNECTED, now)
    if event.timestamp + sender.limits.age_limit < now:
        return mark_skipped(postback, SkipReason.TOO_OLD, now)
    required = rule.platform_event in sender.limits.value_required
    reason = None if waits else missing_value_reason((value, currency), required=required)
    return postback if reason is None else mark_skipped(postback, reason, now)


def is_connected(connections: Sequence[Connection], platform: str) -> bool:
    """Returns whether a platform is connected; a connection in error counts, and its queue waits."""
    return any(
        connection.provider == platform and connection.status is not ConnectionStatus.DISCONNECTED
        for connection in connections
    )


def _platform_event_name(rule: ConversionRule) -> str:
    return (rule.custom_event_name if rule.platform_event == CUSTOM_EVENT else None) or rule.platform_event


def _condition_matches(condition: RuleCondition, event: Event) -> bool:
    value = event_value_as_api_shows_it(event, condition.property)
    return value_matches(
        value, condition.op, parse_operand_for_operator(condition.op, condition.value, _CODE, "value")
    )
