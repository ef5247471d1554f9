"""Conversions as the Conversions API takes them (semantics 13.2, 13.3)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from service_core.plugin import (
    CUSTOM,
    ActionSource,
    Content,
    Conversion,
    Customer,
    Destination,
    epoch_milliseconds,
    hashing,
    platform_calls,
)

SHAPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "order_created": "contents",
        "items_added": "contents",
        "checkout_started": "contents",
        "lead_created": "customer_action",
        "registration_completed": "customer_action",
        "subscription_created": "plan_enrollment",
        "trial_started": "plan_enrollment",
        CUSTOM: CUSTOM,
    }
)
"""Event -> the shape its data has to have."""
_WITHOUT_CONTENTS: Final = "customer_action"
_SOURCES: Final[Mapping[ActionSource, str]] = MappingProxyType(
    {ActionSource.WEBSITE: "web", ActionSource.APP: "mobile_app", ActionSource.SYSTEM: "other"}
)
_COUNTRY_LETTERS: Final = 2


def body_of(destination: Destination, conversions: Sequence[Conversion]) -> dict[str, Any]:
    """What is posted; a test is only validated."""
    return {"validate_only": destination.test, "events": [event_of(one) for one in conversions]}


def event_of(conversion: Conversion) -> dict[str, Any]:
    """One conversion."""
    kind = CUSTOM if conversion.is_custom else conversion.event
    click = conversion.customer.click
    return platform_calls.known(
        id=conversion.event_id,
        type=kind,
        custom_event_name=conversion.event if conversion.is_custom else None,
        timestamp_ms=epoch_milliseconds(conversion.occurred_at),
        action_source=_SOURCES[conversion.action_source],
        source_url=conversion.source_url,
        oppref=click.value if click else None,
        user=_user_of(conversion.customer),
        data=_data_of(conversion, SHAPES.get(kind, CUSTOM)),
    )


def _user_of(customer: Customer) -> dict[str, Any]:
    country = (customer.country or "").upper()
    return platform_calls.known(
        email_sha256=hashing.email(customer.email),
        external_id_sha256=hashing.sha256(customer.user_id or customer.visitor_id or customer.anonymous_id),
        country=country if len(country) == _COUNTRY_LETTERS else None,
        city=customer.city,
        zip_code=customer.postal_code,
        ip_address=customer.ip,
        user_agent=customer.user_agent,
    )


def _data_of(conversion: Conversion, shape: str) -> dict[str, Any]:
    contents = () if shape == _WITHOUT_CONTENTS else conversion.contents
    return platform_calls.known(
        type=shape,
        amount=conversion.value,
        currency=conversion.currency,
        contents=[_item_of(one) for one in contents],
    )


def _item_of(content: Content) -> dict[str, Any]:
    return platform_calls.known(id=content.id, name=content.name, quantity=content.quantity)
