"""Personal data in received events that are not stored yet, or never were."""

import json
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, Final

from service_core.access.ip_prefixes import truncate_to_ipv4_24_or_ipv6_48
from service_core.ingestion.models import ReceivedEvent
from service_core.ingestion.property_addresses import ADDRESS_KEYS

_ADDRESS_FIELDS: Final = frozenset(ADDRESS_KEYS)


def truncate_addresses(event: ReceivedEvent) -> ReceivedEvent:
    """Returns the event with its IP addresses cut to the first one of their /24 or /48, in the body at every depth."""
    body = parse_body_or_none(event.body)
    cut = _truncate_in(body)
    return event._replace(
        address=_first_of_network(event.address),
        body=event.body if cut == body else json.dumps(cut, ensure_ascii=False).encode(),
        headers={
            name: (_first_of_network(value) or "") if name in _ADDRESS_FIELDS else value
            for name, value in event.headers.items()
        },
    )


def parse_body_or_none(body: bytes) -> Any:
    """Returns the JSON value of a body; None if it is none."""
    try:
        return json.loads(body)
    except ValueError:
        return None


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
