"""The form of a conversion rule: what it sends, and what it starts with."""

import json
from collections.abc import Mapping
from typing import Any, Final

from hosts.composition.json_codec import CODEC
from hosts.web.cards.card import Answer
from hosts.web.forms import FormFields, parse_number_or_text

SOURCE_LABELS: Final[Mapping[str, str]] = {
    "any": "Any source", "web": "Website", "browser": "Browser", "mobile_app": "Mobile app", "api": "API",
}  # fmt: skip
VALUE_LABELS: Final[Mapping[str, str]] = {
    "dynamic": "The event's own amount",
    "static": "A fixed amount",
    "none": "No value",
}
OPERATOR_LABELS: Final[Mapping[str, str]] = {
    "eq": "is", "neq": "is not", "in": "is one of", "not_in": "is none of", "contains": "contains",
    "not_contains": "does not contain", "starts_with": "starts with", "ends_with": "ends with",
    "gt": "is greater than", "gte": "is at least", "lt": "is less than", "lte": "is at most",
    "between": "is between", "is_set": "is set", "is_not_set": "is not set",
}  # fmt: skip
SPARE_CONDITIONS: Final = 2
"""Empty lines below the conditions of a rule."""

MAX_CONDITIONS: Final = 10

_TEXT_FIELDS: Final = (
    "name", "trigger_event", "trigger_event_source", "platform", "ad_account_id", "asset_id", "platform_event",
    "custom_event_name", "value_type", "value_path", "static_value", "currency", "dedup_window_hours",
    "test_event_code",
)  # fmt: skip
_LIST_OPERATORS: Final = frozenset({"in", "not_in", "between"})
_ORDER_OPERATORS: Final = frozenset({"gt", "gte", "lt", "lte", "between"})
_WITHOUT_VALUE: Final = frozenset({"is_set", "is_not_set"})


def rule_of_form(form: FormFields) -> dict[str, Any]:
    """Returns the fields of the API; an empty field gets its default."""
    rule: dict[str, Any] = {name: form.text(name) or None for name in _TEXT_FIELDS}
    for name in ("name", "trigger_event", "platform", "platform_event"):
        rule[name] = form.text(name)
    rule["trigger_event_source"] = rule["trigger_event_source"] or "any"
    rule["value_type"] = rule["value_type"] or "dynamic"
    rule["dedup_window_hours"] = form.integer("dedup_window_hours")
    rule["static_value"] = parse_number_or_text(form.text("static_value"))
    rule["test_mode"], rule["active"] = bool(form.text("test_mode")), bool(form.text("active"))
    rule["conditions"] = _conditions_of_form(form)
    defaults = ("dedup_window_hours", "static_value")
    return {name: value for name, value in rule.items() if value is not None or name not in defaults}


def values_of_form(form: FormFields) -> dict[str, Any]:
    """Returns what was typed."""
    values: dict[str, Any] = {name: form.text(name) for name in (*_TEXT_FIELDS, "once")}
    values |= {name: bool(form.text(name)) for name in ("test_mode", "active")}
    return values | {"conditions": _condition_lines(_conditions_of_form(form))}


def values_of_rule(rule: Answer) -> dict[str, Any]:
    """Returns what the form of a stored rule starts with."""
    values: dict[str, Any] = {
        name: "" if rule[name] is None else _value_text(rule[name]) for name in _TEXT_FIELDS
    }
    values |= {"test_mode": rule["test_mode"], "active": rule["active"]}
    return values | {"conditions": _condition_lines(rule["conditions"])}


def values_of_new_rule(once: str) -> dict[str, Any]:
    """Returns what the empty form starts with.

    Args:
        once: makes a repeated form the same request.
    """
    values: dict[str, Any] = dict.fromkeys(_TEXT_FIELDS, "")
    values |= {"once": once, "active": True, "test_mode": False, "dedup_window_hours": "48"}
    return values | {"conditions": _condition_lines([])}


def _condition_lines(conditions: list[Any]) -> list[dict[str, str]]:
    """Returns the lines of the form, each with its condition as it was, and empty ones."""
    lines = [
        {
            "property": condition["property"],
            "op": condition.get("op", "eq"),
            "text": _value_text(condition.get("value")),
            "original": json.dumps(condition, ensure_ascii=False),
        }
        for condition in conditions
    ]
    spare = {"property": "", "op": "eq", "text": "", "original": ""}
    return [*lines, *([spare] * min(SPARE_CONDITIONS, MAX_CONDITIONS - len(lines)))]


def _conditions_of_form(form: FormFields) -> list[dict[str, Any]]:
    """Returns the conditions of the lines that name a property; a line that was not touched keeps its types."""
    names = ("condition_property", "condition_op", "condition_value", "condition_original")
    lines = zip(*(form.all(name) for name in names), strict=False)
    return [
        _condition_of_line(property_.strip(), op, text.strip(), original)
        for property_, op, text, original in lines
        if property_.strip()
    ]


def _condition_of_line(property_: str, op: str, text: str, original: str) -> dict[str, Any]:
    try:
        before = CODEC.loads(original.encode())
    except ValueError:
        before = None
    if isinstance(before, dict):
        shown = (before.get("property"), before.get("op", "eq"), _value_text(before.get("value")))
        if shown == (property_, op, text):
            return before
    if op in _WITHOUT_VALUE:
        return {"property": property_, "op": op}
    return {"property": property_, "op": op, "value": _parse_value(op, text)}


def _parse_value(op: str, text: str) -> Any:
    if op in _LIST_OPERATORS:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return [parse_number_or_text(part) for part in parts] if op in _ORDER_OPERATORS else parts
    return parse_number_or_text(text) if op in _ORDER_OPERATORS else text


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_value_text(part) for part in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
