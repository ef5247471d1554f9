"""From a postback and its event to what a sender gets, and to what of that is kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from service_core.delivery.postbacks.model import ActionSource, Content, Conversion, Customer
from service_core.delivery.postbacks.postback import Postback
from service_core.insight.items.item_lists import PRICE, QUANTITY, SKU, listed
from service_core.intake.accept import scalar
from service_core.intake.amounts import revenue
from service_core.intake.model import Event
from service_core.intake.transport import API, BROWSER, MOBILE_APP, WEB
from service_core.kernel.instants import wire
from service_core.kernel.money import to_major

_DIGITS: Final = 9
_MOST_CONTENTS: Final = 100
_GRANTED: Final = "granted"


def conversion_of(postback: Postback, event: Event, customer: Customer) -> Conversion:
    """What a sender gets."""
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
        contents=tuple(_contents(event, postback.currency)),
        granted=event.event_data.get("consent") == _GRANTED,
    )


def masked(conversion: Conversion) -> dict[str, Any]:
    """What was sent, as it is kept: of the person only which fields there were (contract 13.1)."""
    told = [field.name for field in fields(Customer) if getattr(conversion.customer, field.name) is not None]
    value = conversion.value
    return {
        "event": conversion.event,
        "event_id": conversion.event_id,
        "occurred_at": wire(conversion.occurred_at),
        "action_source": conversion.action_source.value,
        "value": None if value is None else str(to_major(value, conversion.currency or "")),
        "currency": conversion.currency,
        "contents": len(conversion.contents),
        "customer": told,
    }


def _action_source(event: Event) -> ActionSource:
    if event.source in {WEB, BROWSER} or (event.source == API and event.page_url):
        return ActionSource.WEBSITE
    return ActionSource.APP if event.source == MOBILE_APP else ActionSource.SYSTEM


def _contents(event: Event, currency: str | None) -> Iterator[Content]:
    """The lines the event lists; one without an id is none."""
    for line in listed(event.event_data)[:_MOST_CONTENTS]:
        told = line if isinstance(line, Mapping) else {}
        id_ = scalar(_first(told, SKU))
        if id_ is not None:
            price = revenue({"value": _first(told, PRICE)}, currency)[0] if currency else None
            yield Content(id_, _quantity(_first(told, QUANTITY)), price, scalar(told.get("name")))


def _first(told: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((told[name] for name in names if told.get(name) is not None), None)


def _quantity(told: Any) -> int:
    """A whole number of pieces, one unless it is told."""
    text = scalar(told) or ""
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else 1
