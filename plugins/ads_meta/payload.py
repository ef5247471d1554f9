"""Conversions as the Conversions API takes them (semantics 13.2, 13.3)."""

from collections.abc import Sequence
from typing import Any, Final

from service_core.plugin import (
    ActionSource,
    Conversion,
    Customer,
    Destination,
    ad_figures,
    hashing,
    platform_calls,
)

_EXTINFO: Final = {"ios": "i2", "ipados": "i2", "android": "a2"}
_EXTINFO_LENGTH: Final = 16
_OS_VERSION: Final = 4
"""Where the extended information of a device has the version of its system."""


def body_of(destination: Destination, conversions: Sequence[Conversion]) -> dict[str, Any]:
    """What is posted to the events of a pixel."""
    test_code = destination.test_code if destination.test else None
    return platform_calls.known(data=[event_of(one) for one in conversions], test_event_code=test_code)


def event_of(conversion: Conversion) -> dict[str, Any]:
    """One conversion."""
    return platform_calls.known(
        event_name=conversion.event,
        event_time=int(conversion.occurred_at.timestamp()),
        event_id=conversion.event_id,
        action_source=conversion.action_source.value,
        event_source_url=conversion.source_url,
        user_data=_user_of(conversion.customer),
        custom_data=_money_of(conversion),
        app_data=_app_of(conversion) if conversion.action_source is ActionSource.APP else None,
    )


def _user_of(customer: Customer) -> dict[str, Any]:
    click = customer.click
    ids = (customer.user_id, customer.visitor_id, customer.anonymous_id)
    hashed = platform_calls.known(
        em=hashing.email(customer.email),
        ph=hashing.phone(customer.phone, plus=False),
        fn=hashing.name(customer.first_name),
        ln=hashing.name(customer.last_name),
        ge=hashing.gender(customer.gender),
        db=hashing.birth_date(customer.birth_date),
        ct=hashing.place(customer.city),
        st=hashing.place(customer.region),
        zp=hashing.postal_code(customer.postal_code),
        country=hashing.country(customer.country),
    )
    plain = platform_calls.known(
        external_id=list(filter(None, dict.fromkeys(map(hashing.sha256, ids)))),
        client_ip_address=customer.ip,
        client_user_agent=customer.user_agent,
        fbc=customer.fbc or (hashing.fbc(click.clicked_at, click.value) if click else None),
        fbp=customer.fbp,
    )
    return {name: [value] for name, value in hashed.items()} | plain


def _money_of(conversion: Conversion) -> dict[str, Any]:
    currency, contents = conversion.currency, conversion.contents
    return platform_calls.known(
        value=ad_figures.number(conversion.value, currency),
        currency=currency,
        order_id=conversion.order_id,
        contents=[
            platform_calls.known(
                id=one.id, quantity=one.quantity, item_price=ad_figures.number(one.price, currency)
            )
            for one in contents
        ],
        content_ids=[one.id for one in contents],
        num_items=sum(one.quantity for one in contents) or None,
    )


def _app_of(conversion: Conversion) -> dict[str, Any] | None:
    """What Meta asks of every event of an app; nothing, where the system of the device is not known.

    Consent that was not given counts as no permission to track. Who denied it is never told of at all.
    """
    version = _EXTINFO.get((conversion.customer.os or "").lower())
    if version is None:
        return None
    extinfo = [version, *[""] * (_EXTINFO_LENGTH - 1)]
    extinfo[_OS_VERSION] = conversion.customer.os_version or ""
    return {
        "advertiser_tracking_enabled": conversion.granted,
        "application_tracking_enabled": True,
        "extinfo": extinfo,
    }
