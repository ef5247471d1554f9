"""What an event keeps without consent: no click id, no cookie id, no IP (semantics 22)."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.intake.addresses import without
from service_core.intake.campaign import PERSONAL

_ADDRESSES: Final = ("url", "referrer", "install_referrer_url")


def is_denied(properties: Mapping[str, Any]) -> bool:
    """Whether the sender says that consent was denied."""
    return properties.get("consent") == "denied"


def impersonal(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties without ids of clicks and browsers, in their page addresses too."""
    kept = {name: value for name, value in properties.items() if name not in PERSONAL}
    for name in _ADDRESSES:
        if isinstance(address := kept.get(name), str):
            kept[name] = impersonal_address(address)
    return kept


def impersonal_address(address: str) -> str:
    """A page address without ids of clicks."""
    return without(address, PERSONAL)
