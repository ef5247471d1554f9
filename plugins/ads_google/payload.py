"""Conversions as Google Ads takes them (semantics 13.2, 13.3), and what it answers to each."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, Final

from plugins.ads_google.client import digits, failures
from service_core.plugin import (
    Accepted,
    Conversion,
    Customer,
    Deferred,
    Destination,
    Rejected,
    SendOutcome,
    ad_figures,
    hashing,
    platform_calls,
)

_HAD: Final = frozenset({"ORDER_ID_ALREADY_IN_USE", "CLICK_CONVERSION_ALREADY_EXISTS"})
"""Codes of a conversion that Google has from an earlier call."""
_TOO_RECENT: Final = frozenset({"TOO_RECENT_EVENT", "TOO_RECENT_CONVERSION_ACTION"})
"""Codes of a click or a conversion action that Google does not know yet."""
_RECENT_SECONDS: Final = 6 * 3600.0
"""How long Google asks to wait then."""
_THEIRS: Final = frozenset({"internalError", "databaseError", "quotaError"})
"""Kinds of codes that are no fault of a conversion."""


def body_of(destination: Destination, conversions: Sequence[Conversion]) -> dict[str, Any]:
    """What is uploaded: of several with one order id only the first, since Google refuses all of them otherwise."""
    first = {one.event_id: one for one in reversed(conversions)}
    rows = [conversion_of(destination, first[id_]) for id_ in event_ids(conversions)]
    return {"conversions": rows, "partialFailure": True, "validateOnly": destination.test}


def event_ids(conversions: Sequence[Conversion]) -> list[str]:
    """The order ids, each once, as they stand in the body."""
    return list(dict.fromkeys(one.event_id for one in conversions))


def conversion_of(destination: Destination, conversion: Conversion) -> dict[str, Any]:
    """One conversion."""
    customer = conversion.customer
    account = digits(destination.account_id)
    click = {customer.click.type: customer.click.value} if customer.click else {}
    return platform_calls.known(
        **click,
        conversionAction=f"customers/{account}/conversionActions/{destination.asset_id}",
        conversionDateTime=conversion.occurred_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S+00:00"),
        conversionValue=ad_figures.number(conversion.value, conversion.currency),
        currencyCode=conversion.currency,
        orderId=conversion.event_id,
        userIdentifiers=_identifiers(customer),
        consent={"adUserData": "GRANTED"} if conversion.granted else None,
    )


def outcomes_of(told: Mapping[str, Any], status: int, ids: Sequence[str]) -> dict[str, SendOutcome]:
    """What became of each order id; a failure that names none of the rows is that of all.

    Args:
        told: the answer.
        status: that of HTTP.
        ids: in the order of the rows.
    """
    found: dict[str, SendOutcome] = {}
    for fault in failures(told.get("partialFailureError") or {}):
        row = _row_of(fault)
        hit = ids if row is None or row >= len(ids) else (ids[row],)
        for id_ in hit:
            found.setdefault(id_, _outcome(fault, status))
    return {id_: found.get(id_, Accepted(status)) for id_ in ids}


def _identifiers(customer: Customer) -> list[dict[str, str]]:
    hashed = platform_calls.known(
        hashedEmail=hashing.email(customer.email),
        hashedPhoneNumber=hashing.phone(customer.phone, plus=True),
    )
    return [{name: value} for name, value in hashed.items()]


def _row_of(fault: Mapping[str, Any]) -> int | None:
    path = (fault.get("location") or {}).get("fieldPathElements") or ()
    named = [element.get("index") for element in path if element.get("fieldName") == "conversions"]
    return int(named[0]) if named and named[0] is not None else None


def _outcome(fault: Mapping[str, Any], status: int) -> SendOutcome:
    kind, code = next(iter((fault.get("errorCode") or {}).items()), ("", "UNKNOWN"))
    if code in _HAD:
        return Accepted(status)
    if code in _TOO_RECENT:
        return Deferred(code, status, _RECENT_SECONDS)
    return Deferred(code, status) if kind in _THEIRS else Rejected(code, status)
