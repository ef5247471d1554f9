"""A question of a shop owner as data: its words, the call that answers it, and what the raw rows say."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

ROUTES = {
    "analytics_query": ("POST", "/query"), "get_metrics": ("POST", "/metrics"), "explain_change": ("POST", "/explain-change"),
    "get_funnel": ("GET", "/funnel"), "get_retention": ("GET", "/retention"), "get_ltv": ("GET", "/ltv"),
    "get_attribution": ("GET", "/attribution"), "list_events": ("GET", "/events"), "list_users": ("GET", "/users"),
    "get_user": ("GET", "/users/{userId}"), "get_ads": ("GET", "/ads"), "get_revenue": ("GET", "/revenue"),
    "get_commerce_metrics": ("GET", "/commerce-metrics"), "get_subscriptions": ("GET", "/subscriptions"),
    "get_overview": ("GET", "/overview"), "get_traffic": ("GET", "/traffic"), "get_devices": ("GET", "/devices"),
    "get_locations": ("GET", "/locations"), "get_experiment_results": ("GET", "/experiments/results"),
    "list_experiments": ("GET", "/experiments"), "list_dimension_values": ("GET", "/dimension-values"),
    "get_ledger": ("GET", "/ledger"), "list_event_names": ("GET", "/event-names"), "get_tags": ("GET", "/tags"),
    "create_export": ("POST", "/exports"), "get_export": ("GET", "/exports/{exportId}"), "list_exports": ("GET", "/exports"),
    "list_segments": ("GET", "/segments"), "get_segment": ("GET", "/segments/{segmentId}"), "list_links": ("GET", "/links"),
    "list_audit": ("GET", "/audit"),
}  # fmt: skip
"""Tool of an operation -> its route."""

COMPACT = {
    "analytics_query": "query", "explain_change": "explain_change", "get_funnel": "funnel", "get_retention": "retention",
    "get_attribution": "attribution", "list_events": "events", "list_users": "people",
}  # fmt: skip
"""Tool of an operation -> the compact tool that calls it; the others are called by `call_tool`."""


@dataclass(frozen=True)
class Unknown:
    """The right answer to what nobody can know: a reason, an error code, or that the answer is not complete."""

    reason: str

    def is_said_by(self, answer):
        """Whether an answer names the reason where answers name reasons."""
        meta = answer.get("meta", {})
        said = [
            answer.get("code"),
            *(item["reason"] for item in [*answer.get("unavailable", ()), *meta.get("unavailable", ())]),
        ]
        said += [item["reason"] for item in answer.get("totals_unavailable", ())]
        said += [name for name in ("complete",) if answer.get(name, meta.get(name)) is False]
        return self.reason in [*said, *(item["code"] for item in meta.get("warnings", ()))]


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        text: as a person asks it, with the days it means.
        tool: tool of the operation that answers it.
        days: first and last day, both inclusive; None if `arguments` name the range or none is needed.
        arguments: further arguments of the tool.
        pick: takes the answer to the question out of the answer of the service.
        expected: the answer by the raw rows, given the truth.
    """

    text: str
    tool: str
    days: tuple[str, str] | None
    arguments: Mapping[str, Any]
    pick: Callable[[Mapping[str, Any]], Any]
    expected: Callable[[Any], Any] = field(repr=False)

    def tool_call(self):
        """Name and arguments of the call of a compact tool."""
        arguments = dict(self.arguments) | (
            {"start_date": self.days[0], "end_date": self.days[1]} if self.days else {}
        )
        if self.tool == "create_export":
            return "change", {"tool": self.tool, "arguments": arguments, "dry_run": False}
        compact = COMPACT.get(self.tool)
        return (compact, arguments) if compact else ("call_tool", {"name": self.tool, "arguments": arguments})

    def http_request(self):
        """Method, path, query and body of the same question by HTTP."""
        method, path = ROUTES[self.tool]
        arguments = dict(self.arguments)
        for name in re.findall(r"{(\w+)}", path):
            path = path.replace(f"{{{name}}}", arguments.pop(name))
        dates = {"start_date": self.days[0], "end_date": self.days[1]} if self.days else {}
        if method == "POST":
            in_range = {"date_range": {"from": self.days[0], "to": self.days[1]}} if self.days else {}
            return method, path, "", arguments | (dates if self.tool == "create_export" else in_range)
        return (
            method,
            path,
            urlencode({name: _as_parameter(value) for name, value in (arguments | dates).items()}),
            None,
        )


def _as_parameter(value):
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return value if isinstance(value, str) else json.dumps(value)


def field_of(*path):
    """Picks the value at a path of keys and positions."""

    def pick(answer):
        for key in path:
            answer = answer[key]
        return answer

    return pick


def table(rows, key, value, *, keep_zeros=False):
    """Picks label -> value of the rows of a list; 0 and unknown are left out. Of several keys, the label joins them."""
    keys = key.split()

    def pick(answer):
        found = {
            " ".join(str(row[one]) for one in keys): row[value] for row in field_of(*rows.split("."))(answer)
        }
        return found if keep_zeros else {label: number for label, number in found.items() if number}

    return pick
