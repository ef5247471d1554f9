"""Maps Superwall messages. Pure functions."""

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

PROVIDER: Final = "superwall"
VISITOR_ATTRIBUTE: Final = "touchpoint_id"
"""Attribute of a user that carries the visitor's id."""

_ALIAS_PREFIX: Final = "$SuperwallAlias:"
_KINDS: Final = frozenset(NotificationKind) - {
    NotificationKind.SUBSCRIPTION_EXTENDED,
    NotificationKind.TRANSFER,
    NotificationKind.REFUND_REVERSED,
}
EVENT_NAMES: Final = app_store_event_names(_KINDS)
_TEXT_PROPERTIES: Final = {
    "store": "store",
    "periodType": "period_type",
    "countryCode": "country_code",
    "offerCode": "offer_code",
    "newProductId": "new_product_id",
    "bundleId": "bundle_id",
}
_NUMBER_PROPERTIES: Final = {
    "proceeds": "proceeds_usd",
    "taxPercentage": "tax_percentage",
    "commissionPercentage": "commission_percentage",
    "takehomePercentage": "takehome_percentage",
}


def map_message(message: Mapping[str, Any], account_id: str) -> MappedMessage:
    """Returns the mapped message of the body of a webhook.

    Raises:
        ValueError: it has no data, or data without name, id or time.
    """
    outer = MessageFields(message)
    data = outer.object("data")
    id_, kind = data.required_text("id"), data.text("name") or outer.required_text("type")
    told_at = data.epoch_milliseconds("ts") or outer.epoch_milliseconds("timestamp")
    if told_at is None:
        raise ValueError("ts is missing")
    if kind not in _KINDS:
        return MappedMessage(id_, None, told_at)
    return map_app_store_notification(
        _parse_notification(data, id_, NotificationKind(kind), told_at), PROVIDER, account_id
    )


def _parse_notification(
    data: MessageFields, message_id: str, kind: NotificationKind, notified_at: datetime
) -> AppStoreNotification:
    price, currency = _paid_price_or_usd(data)
    in_trial = data.text("periodType") == "TRIAL"
    # The documents take a renewal in a trial for its conversion, with and without the flag.
    converted = data.is_true("isTrialConversion") or (in_trial and kind is NotificationKind.RENEWAL)
    return AppStoreNotification(
        id=message_id,
        kind=kind,
        notified_at=notified_at,
        subscription_id=data.text("originalTransactionId") or data.text("transactionId"),
        transaction_id=data.text("transactionId"),
        product_id=data.text("productId"),
        trial=in_trial and not converted,
        converts_trial=converted,
        price=price,
        currency=currency,
        commission=data.number("commissionPercentage"),
        purchased_at=data.epoch_milliseconds("purchasedAt"),
        expires_at=data.epoch_milliseconds("expirationAt"),
        reason=data.text("cancelReason") or data.text("expirationReason"),
        identity=_identity_without_alias(data),
        external_ids=_external_ids(data),
        properties=_known_extra_properties(data),
        test=data.text("environment") == "SANDBOX",
    )


def _paid_price_or_usd(data: MessageFields) -> tuple[Decimal | None, str | None]:
    """Returns the price in the paid currency, else in US dollars."""
    paid, currency = data.number("priceInPurchasedCurrency"), data.currency("currencyCode")
    if paid is not None and currency is not None:
        return paid, currency
    dollars = data.number("price")
    return dollars, currency if dollars is None else "USD"


def _identity_without_alias(data: MessageFields) -> dict[str, str]:
    attributes, user = data.object("userAttributes"), data.text("originalAppUserId")
    known = {
        "visitor_id": attributes.text(VISITOR_ATTRIBUTE),
        "user_id": None if user is None or user.startswith(_ALIAS_PREFIX) else user,
        "email": attributes.text("email"),
    }
    return {name: id_ for name, id_ in known.items() if id_ is not None}


def _external_ids(data: MessageFields) -> dict[str, str]:
    user = data.text("originalAppUserId")
    return {} if user is None else {PROVIDER: user}


def _known_extra_properties(data: MessageFields) -> dict[str, Any]:
    texts = {name: data.text(field) for field, name in _TEXT_PROPERTIES.items()}
    numbers = {name: data.number(field) for field, name in _NUMBER_PROPERTIES.items()}
    return {name: value for name, value in texts.items() if value is not None} | {
        name: f"{value:f}" for name, value in numbers.items() if value is not None
    }
