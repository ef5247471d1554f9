"""Maps the events of Snowplow's e-commerce plugin, whose money stands in their contexts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from service_core.plugin import drop_none, json_object

COMMERCE_ACTION: Final = "snowplow_ecommerce_action"
"""The schema of every event of the plugin; ``type`` tells what happened."""

_PURCHASE: Final = "transaction"
_REFUND: Final = "refund"
_ORDER: Final = {
    "transaction_id": "order_id",
    "revenue": "value",
    "currency": "currency",
    "tax": "tax",
    "shipping": "shipping",
}


def map_commerce_action(
    data: Mapping[str, Any], contexts: Sequence[tuple[str, Any]]
) -> tuple[object, dict[str, Any]]:
    """Returns name and properties: a transaction is a ``purchase``, a refund has a negative amount.

    Args:
        data: of the event.
        contexts: the name of each context's schema, and its data.
    """
    kind, by_name = data.get("type"), dict(contexts)
    properties = {name: value for name, value in data.items() if name != "type"}
    properties |= drop_none({"items": [item for name, item in contexts if name == "product"] or None})
    if kind == _PURCHASE:
        order = json_object(by_name.get(_PURCHASE))
        return "purchase", properties | drop_none({ours: order.get(name) for name, ours in _ORDER.items()})
    if kind == _REFUND:
        refund = json_object(by_name.get(_REFUND))
        amount = refund.get("refund_amount")
        known = {"order_id": refund.get("transaction_id"), "currency": refund.get("currency")}
        return _REFUND, properties | drop_none(known) | _negative_value(amount)
    return kind, properties


def _negative_value(amount: object) -> dict[str, Any]:
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return {}
    return {"value": -abs(amount)}
