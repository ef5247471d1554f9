"""Conversions as the Conversions API accepts them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from service_core.plugin import (
    ActionSource,
    Conversion,
    Customer,
    Destination,
    epoch_milliseconds,
    hashing,
    platform_http,
    platform_numbers,
)

_EXTINFO: Final = {"ios": "i2", "ipados": "i2", "android": "a2"}
_EXTINFO_LENGTH: Final = 16
_OS_VERSION: Final = 4
"""Place of the system version in the extended information of a device."""


def batch_body(destination: Destination, conversions: Sequence[Conversion]) -> dict[str, Any]:
    """Body of a request to the events of a pixel."""
    test_code = destination.test_code if destination.test else None
    return platform_http.drop_empty(
        data=[event_body(conversion) for conversion in conversions], test_event_code=test_code
    )


def event_body(conversion: Conversion) -> dict[str, Any]:
    """Returns a conversion as an event of the Conversions API."""
    return platform_http.drop_empty(
        event_name=conversion.event,
        event_time=int(conversion.occurred_at.timestamp()),
        event_id=conversion.event_id,
        action_source=conversion.action_source.value,
        event_source_url=conversion.source_url,
        user_data=_hashed_and_plain_user_data(conversion.customer),
        custom_data=_custom_data(conversion),
        app_data=_app_data_if_os_known(conversion) if conversion.action_source is ActionSource.APP else None,
    )


def _hashed_and_plain_user_data(customer: Customer) -> dict[str, Any]:
    click = customer.click
    ids = (customer.user_id, customer.visitor_id, customer.anonymous_id)
    hashed = platform_http.drop_empty(
        em=hashing.hash_email(customer.email),
        ph=hashing.hash_phone(customer.phone, plus=False),
        fn=hashing.hash_name(customer.first_name),
        ln=hashing.hash_name(customer.last_name),
        ge=hashing.hash_gender(customer.gender),
        db=hashing.hash_birth_date(customer.birth_date),
        ct=hashing.hash_place(customer.city),
        st=hashing.hash_place(customer.region),
        zp=hashing.hash_postal_code(customer.postal_code),
        country=hashing.hash_country(customer.country),
    )
    plain = platform_http.drop_empty(
        external_id=list(filter(None, dict.fromkeys(map(hashing.hash_id, ids)))),
        client_ip_address=customer.ip,
        client_user_agent=customer.user_agent,
        fbc=customer.fbc or (_fbc_cookie_value(click.clicked_at, click.value) if click else None),
        fbp=customer.fbp,
    )
    return {name: [value] for name, value in hashed.items()} | plain


def _fbc_cookie_value(clicked_at: datetime, fbclid: str) -> str:
    """Returns the value that the pixel would have set as cookie ``_fbc`` on a click.

    Args:
        clicked_at: when the click id was first seen.
        fbclid: as it came; its case counts.
    """
    return f"fb.1.{epoch_milliseconds(clicked_at)}.{fbclid}"


def _custom_data(conversion: Conversion) -> dict[str, Any]:
    currency, items = conversion.currency, conversion.line_items
    return platform_http.drop_empty(
        value=platform_numbers.to_platform_amount(conversion.value, currency),
        currency=currency,
        order_id=conversion.order_id,
        contents=[
            platform_http.drop_empty(
                id=item.id,
                quantity=item.quantity,
                item_price=platform_numbers.to_platform_amount(item.price, currency),
            )
            for item in items
        ],
        content_ids=[item.id for item in items],
        num_items=sum(item.quantity for item in items) or None,
    )


def _app_data_if_os_known(conversion: Conversion) -> dict[str, Any] | None:
    """Returns the fields that Meta requires of app events; None if the operating system of the device is unknown.

    Consent that was not given counts as no permission to track. Events with denied consent are never sent.
    """
    version = _EXTINFO.get((conversion.customer.os or "").lower())
    if version is None:
        return None
    extinfo = [version, *[""] * (_EXTINFO_LENGTH - 1)]
    extinfo[_OS_VERSION] = conversion.customer.os_version or ""
    return {
        "advertiser_tracking_enabled": conversion.consent_granted,
        "application_tracking_enabled": True,
        "extinfo": extinfo,
    }
