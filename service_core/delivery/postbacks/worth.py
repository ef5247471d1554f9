"""What a conversion is worth, by its rule."""

from typing import Any, Final, NamedTuple

from service_core.delivery.postbacks.event_values import at_path
from service_core.intake.amounts import revenue
from service_core.intake.model import Event
from service_core.kernel.money import to_major
from service_core.workspace.rules.model import Rule

_LETTERS: Final = 3
_ANY: Final = "USD"
"""Stands in for a currency that is not told, to see whether there is an amount at all."""


class Worth(NamedTuple):
    """Minor units and their currency, either None where it is not told."""

    value: int | None
    currency: str | None


def worth(rule: Rule, event: Event) -> Worth:
    """What the rule says it is worth; what is below zero is a refund, which has no value to send (semantics 13.5)."""
    if rule.value_type == "none":
        return Worth(None, None)
    if rule.value_type == "static":
        return Worth(_minor(rule.static_value, rule.currency), rule.currency)
    currency = _currency(rule, event)
    value = _minor(_amount(rule, event), currency)
    return Worth(value if value is None or value >= 0 else None, currency)


def _amount(rule: Rule, event: Event) -> Any:
    if rule.value_path is not None:
        return at_path(event.event_data, rule.value_path)
    if event.revenue is None or event.currency is None:
        return None
    return str(to_major(event.revenue, event.currency))


def _minor(amount: Any, currency: str | None) -> int | None:
    """An amount in major units, as `/track` reads one."""
    return revenue({"value": amount}, currency or _ANY)[0]


def _currency(rule: Rule, event: Event) -> str | None:
    if rule.currency_path is None:
        return event.currency or rule.currency
    told = at_path(event.event_data, rule.currency_path)
    code = told.strip().upper() if isinstance(told, str) else ""
    return code if len(code) == _LETTERS and code.isascii() and code.isalpha() else None
