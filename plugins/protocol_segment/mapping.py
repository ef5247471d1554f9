"""Maps calls of Segment's libraries to events."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

from service_core.plugin import (
    ProtocolEvent,
    campaign_values_of_url,
    drop_none,
    event_time_by_server_clock_or_as_sent,
    json_object,
    text_field,
)

_EVENT_NAMES: Final = {
    "identify": "$identify",
    "page": "page_view",
    "screen": "screen_view",
    "group": "$group",
    "alias": "$alias",
}
_MONEY_EVENT_NAMES: Final = {"order completed": "order_completed", "order refunded": "refund"}
"""The vendor's names of orders and refunds, in lower case, to the names that count as such."""
_READ_FIELDS: Final = frozenset(
    {
        *("type", "event", "name", "category", "properties", "traits", "context", "groupId", "previousId"),
        *("userId", "anonymousId", "messageId", "timestamp", "originalTimestamp", "sentAt", "writeKey"),
    }
)
_TRANSPORT_FIELDS: Final = frozenset(
    {"integrations", "channel", "version", "receivedAt", "_metadata", "batch"}
)
"""Fields that tell Segment's servers what to do; they say nothing about the event."""
_READ_CONTEXT: Final = frozenset(
    {
        *("app", "device", "os", "screen", "locale", "library", "userAgent", "ip", "page", "campaign"),
        *("sessionId", "traits", "consent"),
    }
)
_TRANSPORT_CONTEXT: Final = frozenset(
    {"active", "channel", "userAgentData", "timezone", "network", "sessionStart", "instanceId"}
)
_KNOWN_FIELDS: Final = _READ_FIELDS | _TRANSPORT_FIELDS
_KNOWN_CONTEXT: Final = _READ_CONTEXT | _TRANSPORT_CONTEXT
_PAGE_FIELDS: Final = ("url", "path", "referrer", "title", "search")
_CAMPAIGN_PROPERTIES: Final = {
    "source": "utm_source",
    "medium": "utm_medium",
    "name": "utm_campaign",
    "term": "utm_term",
    "content": "utm_content",
    "id": "utm_id",
}
_HIDDEN_IP: Final = "0.0.0.0"  # noqa: S104 - what libraries send to hide the address


def map_call(call: Mapping[str, Any], batch_sent_at: object, received_at: datetime) -> ProtocolEvent:
    """Returns the event of one call.

    Args:
        call: the call with its ``type``.
        batch_sent_at: when its request was sent, by the client's clock; the call's own ``sentAt`` precedes it.
        received_at: aware UTC.
    """
    call_type = text_field(call, "type") or ""
    context = json_object(call.get("context"))
    happened = call.get("timestamp") or call.get("originalTimestamp")
    sent_at = call.get("sentAt") or batch_sent_at
    body = {
        "event": _event_name(call, call_type),
        "event_id": call.get("messageId"),
        "timestamp": event_time_by_server_clock_or_as_sent(happened, sent_at, received_at),
        "user_id": call.get("userId"),
        "anonymous_id": call.get("anonymousId"),
        "previous_id": call.get("previousId"),
        "ip": "0" if context.get("ip") == _HIDDEN_IP else context.get("ip"),
        "properties": _map_properties(call, call_type, context),
        "context": _map_context(context),
    }
    return ProtocolEvent(drop_none(body), _list_unread_fields(call, context), text_field(call, "writeKey"))


def _event_name(call: Mapping[str, Any], call_type: str) -> object:
    sent = call.get("event")
    return _EVENT_NAMES.get(call_type) or _MONEY_EVENT_NAMES.get(_lower_name(call), sent)


def _is_refund(call: Mapping[str, Any]) -> bool:
    return _MONEY_EVENT_NAMES.get(_lower_name(call)) == "refund"


def _lower_name(call: Mapping[str, Any]) -> str:
    return (text_field(call, "event") or "").lower()


def _map_properties(call: Mapping[str, Any], call_type: str, context: Mapping[str, Any]) -> dict[str, Any]:
    page, campaign = json_object(context.get("page")), json_object(context.get("campaign"))
    shared = {name: page.get(name) for name in _PAGE_FIELDS}
    shared |= {ours: campaign.get(theirs) for theirs, ours in _CAMPAIGN_PROPERTIES.items()}
    own = json_object(call.get("properties"))
    if call_type in {"identify", "group"}:
        own = {"traits": _traits(call, call_type, context), "group_id": call.get("groupId")}
    elif call_type in {"page", "screen"}:
        own = {"name": call.get("name"), "category": call.get("category"), **own}
    in_url = campaign_values_of_url(own.get("url") or page.get("url"))
    return in_url | drop_none(shared) | drop_none(own) | _order_total(call, own)


def _traits(call: Mapping[str, Any], call_type: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the traits of a call; RudderStack's libraries send those of a person in the context."""
    traits = json_object(call.get("traits"))
    return {**json_object(context.get("traits")), **traits} if call_type == "identify" else traits


def _order_total(call: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the amount of an order: ``total`` counts if there is no ``revenue``; a refund is negative."""
    amount = next((own[n] for n in ("value", "revenue", "total") if own.get(n) is not None), None)
    if not _is_refund(call):
        return {} if amount is None or "total" not in own else {"value": amount}
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    return {"value": -abs(cast(float, amount))} if is_number else {}


def _map_context(context: Mapping[str, Any]) -> dict[str, Any]:
    known = ("app", "device", "os", "screen", "locale", "library", "userAgent", "consent")
    return {name: context[name] for name in known if name in context} | drop_none(
        {"session_id": context.get("sessionId")}
    )


def _list_unread_fields(call: Mapping[str, Any], context: Mapping[str, Any]) -> list[str]:
    unread = [name for name in call if name not in _KNOWN_FIELDS]
    unread += [f"context.{n}" for n in context if n not in _KNOWN_CONTEXT]
    return unread
