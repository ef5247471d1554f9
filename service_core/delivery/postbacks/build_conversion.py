"""Builds the conversion of a postback, and the redacted form that is stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from service_core.analytics.line_items.line_item_lists import (
    PRICE_KEYS,
    QUANTITY_KEYS,
    SKU_KEYS,
    raw_line_items_of_first_list,
)
from service_core.delivery.postbacks.models import ActionSource, Conversion, Customer, LineItem
from service_core.delivery.postbacks.postback import Postback
from service_core.ingestion.amounts import parse_first_amount_in_minor_units
from service_core.ingestion.event_source import API, BROWSER, MOBILE_APP, WEB
from service_core.ingestion.models import Event
from service_core.ingestion.validation import text_of_string_or_number
from service_core.kernel.money import to_major
from service_core.kernel.timestamps import format_timestamp

_MAX_QUANTITY_DIGITS: Final = 9
_MAX_LINE_ITEMS: Final = 100
_CONSENT_GRANTED: Final = "granted"


def build_conversion(
    postback: Postback, event: Event, customer: Customer, other_reports: Sequence[Event] = ()
) -> Conversion:
    """Returns the conversion that a sender receives; items are those of another report of the order if its event has none."""
    items = (tuple(_line_items_with_id(report, postback.currency)) for report in (event, *other_reports))
    return Conversion(
        id=postback.id,
        event=postback.platform_event,
        event_id=postback.platform_event_id,
        occurred_at=event.timestamp,
        action_source=_action_source(event),
        customer=customer,
        is_custom=postback.is_custom,
        source_url=event.page_url,
        value=postback.value,
        currency=postback.currency,
        order_id=event.order_id,
        line_items=next(filter(None, items), ()),
        consent_granted=event.event_data.get("consent") == _CONSENT_GRANTED,
    )


def redact_conversion(conversion: Conversion) -> dict[str, Any]:
    """Returns the conversion for storage; of the person only the names of the fields that were sent."""
    known_fields = [
        field.name for field in fields(Customer) if getattr(conversion.customer, field.name) is not None
    ]
    value = conversion.value
    return {
        "event": conversion.event,
        "event_id": conversion.event_id,
        "occurred_at": format_timestamp(conversion.occurred_at),
        "action_source": conversion.action_source.value,
        "value": None if value is None else str(to_major(value, conversion.currency or "")),
        "currency": conversion.currency,
        "contents": len(conversion.line_items),
        "customer": known_fields,
    }


def _action_source(event: Event) -> ActionSource:
    if event.source in {WEB, BROWSER} or (event.source == API and event.page_url):
        return ActionSource.WEBSITE
    return ActionSource.APP if event.source == MOBILE_APP else ActionSource.SYSTEM


def _line_items_with_id(event: Event, currency: str | None) -> Iterator[LineItem]:
    """Returns the line items an event lists; items without an id are skipped."""
    for line in raw_line_items_of_first_list(event.event_data)[:_MAX_LINE_ITEMS]:
        item = line if isinstance(line, Mapping) else {}
        id_ = text_of_string_or_number(_first_value(item, SKU_KEYS))
        if id_ is not None:
            price = (
                parse_first_amount_in_minor_units({"value": _first_value(item, PRICE_KEYS)}, currency)[0]
                if currency
                else None
            )
            yield LineItem(
                id_,
                _parse_quantity_or_one(_first_value(item, QUANTITY_KEYS)),
                price,
                text_of_string_or_number(item.get("name")),
            )


def _first_value(item: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _parse_quantity_or_one(value: Any) -> int:
    """Returns a whole quantity; one if it is missing or invalid."""
    text = text_of_string_or_number(value) or ""
    return (
        max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) <= _MAX_QUANTITY_DIGITS else 1
    )
