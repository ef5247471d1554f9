"""What an event keeps without consent: no click id, no cookie id, no IP (semantics 22)."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.intake.addresses import without
from service_core.intake.campaign import PERSONAL

_ADDRESSES: Final = frozenset({"url", "referrer", "install_referrer_url"})
_OF_TOUCHES: Final = ("first_touch_", "last_touch_")
_PERSONAL_OF_TOUCHES: Final = PERSONAL | {"click_id", "click_id_type"}
_ADDRESSES_OF_TOUCHES: Final = _ADDRESSES | {"landing_page"}


def is_denied(properties: Mapping[str, Any]) -> bool:
    """Whether the sender says that consent was denied."""
    return properties.get("consent") == "denied"


def impersonal(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties without ids of clicks and browsers, in page addresses and in touches that are told too."""
    kept: dict[str, Any] = {}
    for name, value in properties.items():
        plain = _of_touch(name)
        personal, addresses = (
            (PERSONAL, _ADDRESSES) if plain is None else (_PERSONAL_OF_TOUCHES, _ADDRESSES_OF_TOUCHES)
        )
        if (plain or name) not in personal:
            is_address = (plain or name) in addresses and isinstance(value, str)
            kept[name] = impersonal_address(value) if is_address else value
    return kept


def _of_touch(name: str) -> str | None:
    """The name of a value of a first or last touch; None for any other property."""
    return next((name.removeprefix(start) for start in _OF_TOUCHES if name.startswith(start)), None)


def impersonal_address(address: str) -> str:
    """A page address without ids of clicks."""
    return without(address, PERSONAL)
