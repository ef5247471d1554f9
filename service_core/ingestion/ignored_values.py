"""Names the parts of a stored event that cannot be used, for the ledger."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from service_core.ingestion.amounts import AMOUNT_FIELDS
from service_core.ingestion.campaign import CLICK_IDS, URL_CAMPAIGN_PARAMETERS
from service_core.ingestion.enrichment import ORDER_ID_PROPERTIES, PAYMENT_ID_PROPERTIES
from service_core.ingestion.event_source import reported_or_connection_ip
from service_core.ingestion.event_time import REPLACED
from service_core.ingestion.models import EnrichedEvent, Event
from service_core.ingestion.sanitize_json import MAX_DEPTH, to_int64_or_finite_float
from service_core.ingestion.validation import IDENTITY_FIELDS, MAX_TEXT_LENGTH, text_of_string_or_number


class IgnoredValue(StrEnum):
    """A part of an event that was sent and cannot be used."""

    MONEY = "money_ignored"
    UNPAID_MONEY = "money_not_paid"
    CURRENCY = "currency_ignored"
    TIMESTAMP = "timestamp_replaced"
    LONG_ID = "id_cut"
    CLICK_ID_TYPE = "click_id_type_unknown"
    TOP_LEVEL_FIELD = "top_level_attribution_dropped"
    IP_ADDRESS = "ip_ignored"
    PROPERTIES = "properties_ignored"
    DEEP_PROPERTY = "property_dropped"
    EXTERNAL_IDS = "external_ids_ignored"
    PROTOCOL_FIELD = "field_not_read"


_IDENTITY_NAMES: Final = tuple(name for spellings in IDENTITY_FIELDS for name in spellings)


_ORDER_ID_PROPERTIES: Final = (*ORDER_ID_PROPERTIES, *PAYMENT_ID_PROPERTIES)


def ignored_values(
    body: Mapping[str, Any],
    event: Event | EnrichedEvent,
    *,
    is_paid_event: bool = True,
    has_unread_fields: bool = False,
    is_storable: bool = False,
) -> tuple[IgnoredValue, ...]:
    """Returns which parts of a body cannot be used, each once.

    Args:
        body: as sent, decoded.
        event: the row made of it.
        is_paid_event: whether something is paid with an event of this name; the amount of another one is no revenue.
        has_unread_fields: whether the ingest protocol that translated the event does not read a field that was sent.
        is_storable: `is_storable_json` holds for the body.
    """
    unpaid = () if is_paid_event or not event.revenue else (IgnoredValue.UNPAID_MONEY,)
    unread = (IgnoredValue.PROTOCOL_FIELD,) if has_unread_fields else ()
    return (*unpaid, *unread, *_values_missing_in_row(body, event, is_storable=is_storable))


def _values_missing_in_row(
    body: Mapping[str, Any], event: Event | EnrichedEvent, *, is_storable: bool
) -> Iterator[IgnoredValue]:
    sent = event.event_data
    yield from _money_missing_in_row(event)
    if body.get("timestamp") is not None and event.time_adjusted == REPLACED:
        yield IgnoredValue.TIMESTAMP
    if _has_long_text(body, _IDENTITY_NAMES) or _has_long_text(sent, _ORDER_ID_PROPERTIES):
        yield IgnoredValue.LONG_ID
    kind = sent.get("clickIdType")
    if kind and sent.get("clickId") and (not isinstance(kind, str) or kind.lower() not in _CLICK_ID_TYPES):
        yield IgnoredValue.CLICK_ID_TYPE
    if not URL_CAMPAIGN_PARAMETERS.isdisjoint(body):
        yield IgnoredValue.TOP_LEVEL_FIELD
    ip = body.get("ip")
    if isinstance(ip, str) and ip.strip() not in {"", "0"} and not reported_or_connection_ip(ip, None, "api"):
        yield IgnoredValue.IP_ADDRESS
    properties, external_ids = body.get("properties"), body.get("external_ids")
    if properties is not None and not isinstance(properties, dict):
        yield IgnoredValue.PROPERTIES
    if not is_storable and isinstance(properties, dict) and _has_unstorable_value(properties):
        yield IgnoredValue.DEEP_PROPERTY
    if external_ids is not None and not _are_usable_ids(external_ids):
        yield IgnoredValue.EXTERNAL_IDS


def _money_missing_in_row(event: Event | EnrichedEvent) -> Iterator[IgnoredValue]:
    sent = event.event_data
    if event.revenue is None and any(sent.get(name) not in (None, "") for name in AMOUNT_FIELDS):
        yield IgnoredValue.MONEY
    currency = sent.get("currency")
    if currency and (not isinstance(currency, str) or currency.strip().upper() != event.currency):
        yield IgnoredValue.CURRENCY


def _has_long_text(fields: Mapping[str, Any], names: Iterable[str]) -> bool:
    for name in names:
        if name in fields and isinstance(id_ := fields[name], str) and len(id_) > MAX_TEXT_LENGTH:
            return True
    return False


def _has_unstorable_value(value: Any, depth: int = 0) -> bool:
    """Whether `sanitize_json_value` replaces a value by null: a number out of range, or what is nested too deep."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth >= MAX_DEPTH or any(
            _has_unstorable_value(item, depth + 1) for item in inner if not isinstance(item, str)
        )
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and to_int64_or_finite_float(value) is None


def _are_usable_ids(external_ids: object) -> bool:
    """Whether external ids are an object of texts and numbers; null and empty values are no ids and count as usable."""
    return isinstance(external_ids, dict) and all(
        value in (None, "") or text_of_string_or_number(value) is not None for value in external_ids.values()
    )


_CLICK_ID_TYPES: Final = frozenset(CLICK_IDS) | {"sccid"}
