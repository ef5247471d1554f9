"""Conversions as Google Ads accepts them, and the outcome of each."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, Final

from plugins.ads_google.client import error_details, strip_dashes
from service_core.plugin import (
    Accepted,
    Conversion,
    Customer,
    Deferred,
    Destination,
    Rejected,
    SendOutcome,
    hashing,
    platform_http,
    platform_numbers,
)

_ALREADY_RECEIVED: Final = frozenset({"ORDER_ID_ALREADY_IN_USE", "CLICK_CONVERSION_ALREADY_EXISTS"})
"""Codes of a conversion that Google has from an earlier call."""
_TOO_RECENT: Final = frozenset({"TOO_RECENT_EVENT", "TOO_RECENT_CONVERSION_ACTION"})
"""Codes of a click or a conversion action that Google does not know yet."""
_RECENT_SECONDS: Final = 6 * 3600.0
"""Pause that Google asks for in that case."""
_TRANSIENT_KINDS: Final = frozenset({"internalError", "databaseError", "quotaError"})
"""Kinds of codes that are no fault of a conversion."""


def upload_body_without_repeated_orders(
    destination: Destination, conversions: Sequence[Conversion]
) -> dict[str, Any]:
    """Returns the body of an upload. Of conversions with one order id only the first is sent: Google would refuse all."""
    first = {conversion.event_id: conversion for conversion in reversed(conversions)}
    rows = [conversion_body(destination, first[id_]) for id_ in distinct_event_ids(conversions)]
    return {"conversions": rows, "partialFailure": True, "validateOnly": destination.test}


def distinct_event_ids(conversions: Sequence[Conversion]) -> list[str]:
    """Returns each event id once, in the order of the body."""
    return list(dict.fromkeys(conversion.event_id for conversion in conversions))


def conversion_body(destination: Destination, conversion: Conversion) -> dict[str, Any]:
    """Returns a conversion as a row of the upload."""
    customer = conversion.customer
    account = strip_dashes(destination.account_id)
    click = {customer.click.type: customer.click.value} if customer.click else {}
    return platform_http.drop_empty(
        **click,
        conversionAction=f"customers/{account}/conversionActions/{destination.asset_id}",
        conversionDateTime=conversion.occurred_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S+00:00"),
        conversionValue=platform_numbers.to_platform_amount(conversion.value, conversion.currency),
        currencyCode=conversion.currency,
        orderId=conversion.event_id,
        userIdentifiers=_hashed_email_and_phone(customer),
        consent={"adUserData": "GRANTED"} if conversion.consent_granted else None,
    )


def parse_outcome_by_event_id(
    payload: Mapping[str, Any], http_status: int, event_ids: Sequence[str]
) -> dict[str, SendOutcome]:
    """Returns the outcome of each event id. A failure that names no row applies to all; ids without one are accepted.

    Args:
        payload: the response, which lists failures only.
        http_status: HTTP status of the response.
        event_ids: event ids in the order of the uploaded rows.
    """
    failures: dict[str, SendOutcome] = {}
    for fault in error_details(payload.get("partialFailureError") or {}):
        row = _failed_row(fault)
        failed_ids = event_ids if row is None or row >= len(event_ids) else (event_ids[row],)
        for id_ in failed_ids:
            failures.setdefault(id_, _error_outcome_accepting_duplicates(fault, http_status))
    return {id_: failures.get(id_, Accepted(http_status)) for id_ in event_ids}


def _hashed_email_and_phone(customer: Customer) -> list[dict[str, str]]:
    hashed = platform_http.drop_empty(
        hashedEmail=hashing.hash_email(customer.email),
        hashedPhoneNumber=hashing.hash_phone(customer.phone, plus=True),
    )
    return [{name: value} for name, value in hashed.items()]


def _failed_row(fault: Mapping[str, Any]) -> int | None:
    path = (fault.get("location") or {}).get("fieldPathElements") or ()
    named = [element.get("index") for element in path if element.get("fieldName") == "conversions"]
    return int(named[0]) if named and named[0] is not None else None


def _error_outcome_accepting_duplicates(error: Mapping[str, Any], http_status: int) -> SendOutcome:
    kind, code = next(iter((error.get("errorCode") or {}).items()), ("", "UNKNOWN"))
    if code in _ALREADY_RECEIVED:
        return Accepted(http_status)
    if code in _TOO_RECENT:
        return Deferred(code, http_status, _RECENT_SECONDS)
    return Deferred(code, http_status) if kind in _TRANSIENT_KINDS else Rejected(code, http_status)
