"""Conversions as the Events API takes them (semantics 13.2, 13.3)."""

from collections.abc import Sequence
from typing import Any

from service_core.plugin import Conversion, Customer, Destination, ad_figures, hashing, platform_calls


def body_of(destination: Destination, conversions: Sequence[Conversion]) -> dict[str, Any]:
    """What is posted; ``event_source_id`` is the pixel."""
    return platform_calls.known(
        event_source="web",
        event_source_id=destination.asset_id,
        data=[event_of(one) for one in conversions],
        test_event_code=destination.test_code if destination.test else None,
    )


def event_of(conversion: Conversion) -> dict[str, Any]:
    """One conversion."""
    return platform_calls.known(
        event=conversion.event,
        event_time=int(conversion.occurred_at.timestamp()),
        event_id=conversion.event_id,
        user=_user_of(conversion.customer),
        page=platform_calls.known(url=conversion.source_url),
        properties=_money_of(conversion),
    )


def _user_of(customer: Customer) -> dict[str, Any]:
    return platform_calls.known(
        email=hashing.email(customer.email),
        phone=hashing.phone(customer.phone, plus=True),
        external_id=hashing.sha256(customer.user_id or customer.visitor_id or customer.anonymous_id),
        ttclid=customer.click.value if customer.click else None,
        ttp=customer.ttp,
        ip=customer.ip,
        user_agent=customer.user_agent,
    )


def _money_of(conversion: Conversion) -> dict[str, Any]:
    currency = conversion.currency
    return platform_calls.known(
        value=ad_figures.number(conversion.value, currency),
        currency=currency,
        contents=[
            platform_calls.known(
                content_id=one.id,
                content_name=one.name,
                quantity=one.quantity,
                price=ad_figures.number(one.price, currency),
            )
            for one in conversion.contents
        ],
    )
