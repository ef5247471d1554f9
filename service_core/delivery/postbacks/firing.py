"""When a rule fires, and what it then puts into the outbox (semantics 13.1). Pure: what it needs is given."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from service_core.delivery.postbacks.event_values import property_of
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.delivery.postbacks.postback import Postback, SkipReason, skipped
from service_core.delivery.postbacks.worth import worth
from service_core.insight.connections.model import Connection, ConnectionStatus
from service_core.insight.filtering import operand
from service_core.insight.predicates import meets
from service_core.intake.consent import is_denied
from service_core.intake.model import Event
from service_core.intake.pipeline import Triggered
from service_core.kernel.ids import new_id
from service_core.workspace.rules.bodies import ANY_SOURCE
from service_core.workspace.rules.model import Rule, RuleCondition
from service_core.workspace.rules.platforms import CUSTOM

_CODE: Final = "invalid_filter"


def matches(rule: Rule, event: Event) -> bool:
    """Whether an event is one the rule sends: system events by their exact name alone, as any other."""
    return (
        rule.active
        and event.event_name == rule.trigger_event
        and rule.trigger_event_source in {ANY_SOURCE, event.source}
        and not event.is_bot
        and not event.is_test
        and all(_holds(condition, event) for condition in rule.conditions)
    )


def fired(
    rule: Rule,
    triggered: Triggered,
    sender: ConversionSender,
    connections: Sequence[Connection],
    now: datetime,
) -> Postback:
    """What a rule makes of an event that matches: something to send, or a reason not to."""
    event = triggered.event
    value, currency = worth(rule, event)
    postback = Postback(
        id=new_id(),
        workspace_id=rule.workspace_id,
        rule_id=rule.id,
        event_id=event.event_id,
        event_at=event.timestamp,
        platform=rule.platform,
        account_id=rule.ad_account_id,
        asset_id=rule.asset_id,
        platform_event=_name(rule),
        platform_event_id=event.order_id or event.event_id,
        created_at=now,
        next_attempt_at=now,
        is_custom=rule.platform_event == CUSTOM,
        is_test=rule.test_mode,
        test_code=rule.test_event_code if rule.test_mode else None,
        value=value if currency else None,
        currency=None if value is None else currency,
        user_agent=triggered.user_agent,
    )
    if is_denied(event.event_data):
        return skipped(postback, SkipReason.CONSENT_DENIED, now)
    if not is_connected(connections, rule.platform):
        return skipped(postback, SkipReason.NOT_CONNECTED, now)
    if event.timestamp + sender.terms.age_limit < now:
        return skipped(postback, SkipReason.TOO_OLD, now)
    if value is None and rule.platform_event in sender.terms.valued:
        return skipped(postback, SkipReason.MISSING_VALUE, now)
    if value is not None and currency is None:
        return skipped(postback, SkipReason.MISSING_CURRENCY, now)
    return postback


def is_connected(connections: Sequence[Connection], platform: str) -> bool:
    """Whether a platform is connected; one in error is, and its queue waits for it."""
    return any(
        one.provider == platform and one.status is not ConnectionStatus.DISCONNECTED for one in connections
    )


def _name(rule: Rule) -> str:
    return (rule.custom_event_name if rule.platform_event == CUSTOM else None) or rule.platform_event


def _holds(condition: RuleCondition, event: Event) -> bool:
    value = property_of(event, condition.property)
    return meets(value, condition.op, operand(condition.op, condition.value, _CODE, "value"))
