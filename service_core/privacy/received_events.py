"""Personal data in received events that are not stored yet, or never were."""

import json
import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, Final
from urllib.parse import quote, unquote_plus

from service_core.access.ip_prefixes import truncate_to_ipv4_24_or_ipv6_48
from service_core.ingestion.models import ReceivedEvent
from service_core.ingestion.property_addresses import ADDRESS_KEYS, truncate_addresses_in_json
from service_core.privacy.models import PersonSubject

_ADDRESS_FIELDS: Final = frozenset(ADDRESS_KEYS)
_FORM_ADDRESS: Final = re.compile(rf"(?i)(?<![^&\n])({'|'.join(map(re.escape, ADDRESS_KEYS))})=([^&\n]*)")


def truncate_addresses(event: ReceivedEvent) -> ReceivedEvent:
    """Returns the event with its IP addresses cut to the first one of their /24 or /48, in the body at every depth.

    A body that is no JSON, as a message of a provider may be, is cut as text and as a form.
    """
    return event._replace(
        address=_first_of_network(event.address),
        body=_truncate_in_body(event.body),
        headers={
            name: (_first_of_network(value) or "") if name in _ADDRESS_FIELDS else value
            for name, value in event.headers.items()
        },
    )


def parse_body_or_text(body: bytes) -> Any:
    """Returns the JSON value of a body, or its text if it is no JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def mentions_person(body: bytes, subject: PersonSubject) -> bool:
    """Returns whether a body has an id of a person; one that is no JSON, or nested too deeply, is searched as text."""
    try:
        return subject.is_mentioned_in(json.loads(body))
    except (ValueError, RecursionError):
        text = unquote_plus(body.decode("utf-8", "replace"))
        return bool(subject.redact(text) != text)


def _truncate_in_body(body: bytes) -> bytes:
    try:
        value = json.loads(body)
        cut = _truncate_in(value)
        return body if cut == value else json.dumps(cut, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        text = truncate_addresses_in_json(body.decode("utf-8", "surrogateescape"))
        return _FORM_ADDRESS.sub(_truncate_form_field, text).encode("utf-8", "surrogateescape")


def _truncate_form_field(field: re.Match[str]) -> str:
    address = _first_of_network(unquote_plus(field[2]))
    return field[0] if address is None else f"{field[1]}={quote(address)}"


def _truncate_in(value: Any, name: str = "") -> Any:
    match value:
        case Mapping():
            return {key: _truncate_in(item, str(key).lower()) for key, item in value.items()}
        case list():
            return [_truncate_in(item, name) for item in value]
        case str() if name in _ADDRESS_FIELDS:
            return _first_of_network(value) or value
        case _:
            return value


def _first_of_network(address: str | None) -> str | None:
    """Returns the first address of the network, from which a replayed event can still be located; the first of a list."""
    network = truncate_to_ipv4_24_or_ipv6_48((address or "").partition(",")[0].strip())
    return None if network is None else str(ip_network(network).network_address)
