"""Maps RevenueCat messages. Pure functions."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from service_core.plugin import (
    AppStoreNotification,
    MappedMessage,
    MessageFields,
    NotificationKind,
    app_store_event_names,
    map_app_store_notification,
)

PROVIDER: Final = "revenuecat"
VISITOR_ATTRIBUTE: Final = "touchpoint_id"
"""Attribute of a customer that carries the visitor's id."""

_KINDS: Final = frozenset(NotificationKind)
EVENT_NAMES: Final = app_store_event_names(_KINDS)

_ANONYMOUS_PREFIX: Final = "$RCAnonymousID:"
_TEXT_PROPERTIES: Final = (
    "store",
    "period_type",
    "country_code",
    "offer_code",
    "new_product_id",
    "presented_offering_id",
)
_NUMBER_PROPERTIES: Final = ("tax_percentage", "commission_percentage", "takehome_percentage")
_LIST_PROPERTIES: Final = ("entitlement_ids", "transferred_from", "transferred_to")


def map_message(message: Mapping[str, Any], account_id: str) -> MappedMessage:
    """Returns the mapped message of the body of a webhook.

    Raises:
        ValueError: it has no event, or an event without type, id or time.
    """
    event = MessageFields(message).object("event")
    id_, kind = event.required_text("id"), event.required_text("type").lower()
    told_at = _notified_at(event)
    if kind not in _KINDS:
        return MappedMessage(id_, None, told_at)
    return map_app_store_notification(
        _parse_notification(event, id_, NotificationKind(kind), told_at), PROVIDER, account_id
    )


def _notified_at(event: MessageFields) -> datetime:
    told_at = event.epoch_milliseconds("event_timestamp_ms") or event.epoch_milliseconds("purchased_at_ms")
    if told_at is None:
        raise ValueError("event_timestamp_ms is missing")
    return told_at


def _parse_notification(
    event: MessageFields, message_id: str, kind: NotificationKind, notified_at: datetime
) -> AppStoreNotification:
    price, currency = _paid_price_or_usd(event)
    transfer = kind is NotificationKind.TRANSFER
    return AppStoreNotification(
        id=message_id,
        kind=kind,
        notified_at=notified_at,
        subscription_id=None if transfer else _subscription_id(event),
        transaction_id=event.text("transaction_id"),
        product_id=event.text("product_id"),
        plan=next(iter(event.texts("entitlement_ids")), None),
        trial=event.text("period_type") == "TRIAL",
        converts_trial=event.is_true("is_trial_conversion"),
        price=price,
        currency=currency,
        commission=event.number("commission_percentage"),
        purchased_at=event.epoch_milliseconds("purchased_at_ms"),
        expires_at=event.epoch_milliseconds("expiration_at_ms"),
        reason=event.text("cancel_reason") or event.text("expiration_reason"),
        identity=_identity_without_anonymous_ids(event),
        external_ids=_original_customer_id(event),
        properties=_known_extra_properties(event),
        test=event.text("environment") == "SANDBOX",
    )


def _subscription_id(event: MessageFields) -> str | None:
    return event.text("original_transaction_id") or event.text("transaction_id")


def _paid_price_or_usd(event: MessageFields) -> tuple[Decimal | None, str | None]:
    """Returns the price in the paid currency, else in US dollars."""
    paid, currency = event.number("price_in_purchased_currency"), event.currency("currency")
    if paid is not None and currency is not None:
        return paid, currency
    dollars = event.number("price")
    return dollars, currency if dollars is None else "USD"


def _app_user_ids(event: MessageFields) -> list[str]:
    """Returns every id of the customer, the latest first."""
    named = [event.text("app_user_id"), event.text("original_app_user_id")]
    ids = [*named[:1], *event.texts("transferred_to"), *named[1:], *event.texts("aliases")]
    return [id_ for id_ in ids if id_ is not None]


def _identity_without_anonymous_ids(event: MessageFields) -> dict[str, str]:
    attributes = event.object("subscriber_attributes")
    known = {
        "visitor_id": attributes.object(VISITOR_ATTRIBUTE).text("value"),
        "user_id": next((id_ for id_ in _app_user_ids(event) if not id_.startswith(_ANONYMOUS_PREFIX)), None),
        "email": attributes.object("$email").text("value") or attributes.object("email").text("value"),
    }
    return {name: id_ for name, id_ in known.items() if id_ is not None}


def _original_customer_id(event: MessageFields) -> dict[str, str]:
    """Returns the original id of the customer, which never changes, under the provider."""
    customer = event.text("original_app_user_id") or next(iter(_app_user_ids(event)), None)
    return {} if customer is None else {PROVIDER: customer}


def _known_extra_properties(event: MessageFields) -> dict[str, Any]:
    texts = {name: event.text(name) for name in _TEXT_PROPERTIES}
    shares = {name: event.number(name) for name in _NUMBER_PROPERTIES}
    lists = {name: event.texts(name) for name in _LIST_PROPERTIES}
    return (
        {name: value for name, value in texts.items() if value is not None}
        | {name: f"{share:f}" for name, share in shares.items() if share is not None}
        | {name: listed for name, listed in lists.items() if listed}
    )
