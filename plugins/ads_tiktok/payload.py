"""Conversions as the Events API accepts them."""

from collections.abc import Sequence
from typing import Any

from service_core.plugin import Conversion, Customer, Destination, hashing, platform_http, platform_numbers


def batch_body(destination: Destination, conversions: Sequence[Conversion]) -> dict[str, Any]:
    """Body of the request; ``event_source_id`` is the pixel."""
    return platform_http.drop_empty(
        event_source="web",
        event_source_id=destination.asset_id,
        data=[event_body(conversion) for conversion in conversions],
        test_event_code=destination.test_code if destination.test else None,
    )


def event_body(conversion: Conversion) -> dict[str, Any]:
    """Returns a conversion as an event of the Events API."""
    return platform_http.drop_empty(
        event=conversion.event,
        event_time=int(conversion.occurred_at.timestamp()),
        event_id=conversion.event_id,
        user=_hashed_and_plain_user_data(conversion.customer),
        page=platform_http.drop_empty(url=conversion.source_url),
        properties=_value_and_line_items(conversion),
    )


def _hashed_and_plain_user_data(customer: Customer) -> dict[str, Any]:
    return platform_http.drop_empty(
        email=hashing.hash_email(customer.email),
        phone=hashing.hash_phone(customer.phone, plus=True),
        external_id=hashing.hash_id(customer.user_id or customer.visitor_id or customer.anonymous_id),
        ttclid=customer.click.value if customer.click else None,
        ttp=customer.ttp,
        ip=customer.ip,
        user_agent=customer.user_agent,
    )


def _value_and_line_items(conversion: Conversion) -> dict[str, Any]:
    currency = conversion.currency
    return platform_http.drop_empty(
        value=platform_numbers.to_platform_amount(conversion.value, currency),
        currency=currency,
        contents=[
            platform_http.drop_empty(
                content_id=item.id,
                content_name=item.name,
                quantity=item.quantity,
                price=platform_numbers.to_platform_amount(item.price, currency),
            )
            for item in conversion.line_items
        ],
    )
