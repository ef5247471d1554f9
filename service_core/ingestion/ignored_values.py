"""Names the parts of a stored event that could not be used, for the ledger."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from service_core.ingestion.amounts import AMOUNT_FIELDS
from service_core.ingestion.campaign import CLICK_IDS, URL_CAMPAIGN_PARAMETERS
from service_core.ingestion.event_source import reported_or_connection_ip
from service_core.ingestion.event_time import REPLACED
from service_core.ingestion.models import Event
from service_core.ingestion.validation import IDENTITY_FIELDS, MAX_TEXT_LENGTH


class IgnoredValue(StrEnum):
    """A part of an event that its row does not have, although it was sent."""

    MONEY = "money_ignored"
    CURRENCY = "currency_ignored"
    TIMESTAMP = "timestamp_replaced"
    LONG_ID = "id_cut"
    CLICK_ID_TYPE = "click_id_type_unknown"
    TOP_LEVEL_FIELD = "top_level_attribution_dropped"
    IP_ADDRESS = "ip_ignored"
    PROPERTIES = "properties_ignored"
    EXTERNAL_IDS = "external_ids_ignored"


_IDENTITY_NAMES: Final = tuple(name for spellings in IDENTITY_FIELDS for name in spellings)


def ignored_values(body: Mapping[str, Any], event: Event) -> tuple[IgnoredValue, ...]:
    """Returns which parts of a body its row does not have, each once.

    Args:
        body: as sent, decoded.
        event: the row made of it.
    """
    return tuple(_ignored_values(body, event))


def _ignored_values(body: Mapping[str, Any], event: Event) -> Iterator[IgnoredValue]:
    sent = event.event_data
    if event.revenue is None and any(sent.get(name) not in (None, "") for name in AMOUNT_FIELDS):
        yield IgnoredValue.MONEY
    currency = sent.get("currency")
    if currency and (not isinstance(currency, str) or currency.strip().upper() != event.currency):
        yield IgnoredValue.CURRENCY
    if body.get("timestamp") is not None and event.time_adjusted == REPLACED:
        yield IgnoredValue.TIMESTAMP
    if any(isinstance(id_ := body.get(name), str) and len(id_) > MAX_TEXT_LENGTH for name in _IDENTITY_NAMES):
        yield IgnoredValue.LONG_ID
    kind = sent.get("clickIdType")
    if kind and sent.get("clickId") and (not isinstance(kind, str) or kind.lower() not in _CLICK_ID_TYPES):
        yield IgnoredValue.CLICK_ID_TYPE
    if not URL_CAMPAIGN_PARAMETERS.isdisjoint(body):
        yield IgnoredValue.TOP_LEVEL_FIELD
    ip = body.get("ip")
    if isinstance(ip, str) and ip.strip() not in {"", "0"} and not reported_or_connection_ip(ip, None, "api"):
        yield IgnoredValue.IP_ADDRESS
    if body.get("properties") is not None and not isinstance(body["properties"], dict):
        yield IgnoredValue.PROPERTIES
    if body.get("external_ids") is not None and not isinstance(body["external_ids"], dict):
        yield IgnoredValue.EXTERNAL_IDS


_CLICK_ID_TYPES: Final = frozenset(CLICK_IDS) | {"sccid"}
