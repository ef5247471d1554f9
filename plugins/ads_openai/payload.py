"""Conversions as the Conversions API accepts them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from service_core.plugin import (
    CUSTOM_EVENT,
    ActionSource,
    Conversion,
    Customer,
    Destination,
    epoch_milliseconds,
    hashing,
    platform_http,
)

EVENT_DATA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "order_created": "contents",
        "items_added": "contents",
        "checkout_started": "contents",
        "lead_created": "customer_action",
        "registration_completed": "customer_action",
        "subscription_created": "plan_enrollment",
        "trial_started": "plan_enrollment",
        CUSTOM_EVENT: CUSTOM_EVENT,
    }
)
"""Event -> the shape its data has to have."""
_WITHOUT_CONTENTS: Final = "customer_action"
_ACTION_SOURCES: Final[Mapping[ActionSource, str]] = MappingProxyType(
    {ActionSource.WEBSITE: "web", ActionSource.APP: "mobile_app", ActionSource.SYSTEM: "other"}
)
_COUNTRY_LETTERS: Final = 2


def batch_body(destination: Destination, conversions: Sequence[Conversion]) -> dict[str, Any]:
    """Body of the request; a test is only validated."""
    return {
        "validate_only": destination.test,
        "events": [event_body(conversion) for conversion in conversions],
    }


def event_body(conversion: Conversion) -> dict[str, Any]:
    """Returns a conversion as an event of the Conversions API."""
    kind = CUSTOM_EVENT if conversion.is_custom else conversion.event
    click = conversion.customer.click
    return platform_http.drop_empty(
        id=conversion.event_id,
        type=kind,
        custom_event_name=conversion.event if conversion.is_custom else None,
        timestamp_ms=epoch_milliseconds(conversion.occurred_at),
        action_source=_ACTION_SOURCES[conversion.action_source],
        source_url=conversion.source_url,
        oppref=click.value if click else None,
        user=_hashed_and_plain_user_data(conversion.customer),
        data=_event_data_with_contents_if_allowed(conversion, EVENT_DATA_TYPES.get(kind, CUSTOM_EVENT)),
    )


def _hashed_and_plain_user_data(customer: Customer) -> dict[str, Any]:
    country = (customer.country or "").upper()
    return platform_http.drop_empty(
        email_sha256=hashing.hash_email(customer.email),
        external_id_sha256=hashing.hash_id(customer.user_id or customer.visitor_id or customer.anonymous_id),
        country=country if len(country) == _COUNTRY_LETTERS else None,
        city=customer.city,
        zip_code=customer.postal_code,
        ip_address=customer.ip,
        user_agent=customer.user_agent,
    )


def _event_data_with_contents_if_allowed(conversion: Conversion, data_type: str) -> dict[str, Any]:
    contents = () if data_type == _WITHOUT_CONTENTS else conversion.line_items
    return platform_http.drop_empty(
        type=data_type,
        amount=conversion.value,
        currency=conversion.currency,
        contents=[
            platform_http.drop_empty(id=item.id, name=item.name, quantity=item.quantity) for item in contents
        ],
    )
