"""The list of ``/mcp?tools=compact``: descriptions and usual arguments of its tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hosts.mcp.tool_sets import Entry

MAX_LIST_TOKENS: Final = 2000
"""Size of the list of tools, estimated as its characters divided by 4."""

EVENT_ROWS: Final = 20
PEOPLE_ROWS: Final = 20
"""Rows of a compact list without ``limit``."""

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer"}
_FLAG: Final = {"type": "boolean"}
_OBJECT: Final = {"type": "object"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_FILTERS: Final = {"type": "array", "items": _OBJECT}
_RANGE: Final[Mapping[str, Any]] = {"date_range": _OBJECT, "start_date": _TEXT, "end_date": _TEXT}

SAVED_KINDS: Final[Mapping[str, str]] = {
    "reports": "report",
    "dashboards": "dashboard",
    "analyses": "analysis",
    "segments": "segment",
    "annotations": "annotation",
    "alerts": "alert",
    "webhooks": "webhook",
    "email_reports": "email_report",
    "share_links": "share_link",
    "rules": "rule",
    "links": "link",
    "script_proposals": "script_proposal",
    "connections": "connection",
    "exports": "export",
}
"""Kind of saved work -> the singular of its tools."""


@dataclass(frozen=True, slots=True)
class CompactTool:
    """A tool of the compact list.

    Attributes:
        description: when to use it, and when not.
        properties: schemas of its usual arguments.
        required: names of the arguments it needs.
        operation_tool: the tool it calls; None if its arguments choose.
        is_read: whether it changes nothing.
        is_open: whether it takes further arguments of the tool it calls.
    """

    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    operation_tool: str | None = None
    is_read: bool = True
    is_open: bool = False

    def entry(self, name: str) -> Entry:
        """Returns its entry in ``tools/list``."""
        schema: dict[str, Any] = {"type": "object", "properties": self.properties}
        if self.required:
            schema["required"] = list(self.required)
        hints = (
            {"readOnlyHint": True, "openWorldHint": False}
            if self.is_read
            else {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}
        )
        return {"name": name, "description": self.description, "inputSchema": schema, "annotations": hints}


COMPACT_TOOLS: Final[Mapping[str, CompactTool]] = {
    "query": CompactTool(
        "Metrics by up to 3 dimensions over a range: totals, breakdowns, series, comparisons. Ids come from catalog. "
        "Not for why a number changed, single people or events.",
        {
            "metrics": _TEXTS,
            "dimensions": _TEXTS,
            "filters": _FILTERS,
            **_RANGE,
            "interval": _TEXT,
            "compare": {"description": "true, previous_year or a date_range"},
            "order_by": _FILTERS,
            "limit": _COUNT,
        },
        ("metrics",),
        "analytics_query",
        is_open=True,
    ),
    "explain_change": CompactTool(
        "Why a metric changed between two ranges: which groups drive it, unusual days, missing data. Not for how much it "
        "is: use query.",
        {
            "metric": _TEXT,
            **_RANGE,
            "compare": {"description": "default previous_period"},
            "dimensions": _TEXTS,
            "filters": _FILTERS,
        },
        ("metric",),
        "explain_change",
        is_open=True,
    ),
    "funnel": CompactTool(
        "How many people get through 2 to 5 events in order, and how long they take. Not for one event: use query; not for "
        "free paths: call_tool.",
        {"steps": _TEXTS, **_RANGE, "window_days": _COUNT, "unit": {"enum": ["person", "session"]}},
        ("steps",),
        "get_funnel",
        is_open=True,
    ),
    "retention": CompactTool(
        "How many people of a cohort come back, and their revenue. Not for repeat purchases: query has metrics for them.",
        {**_RANGE, "granularity": {"enum": ["day", "week", "month"]}, "periods": _COUNT, "event_name": _TEXT},
        (),
        "get_retention",
        is_open=True,
    ),
    "attribution": CompactTool(
        "Conversions and revenue credited to campaigns and channels by a model. Not for where money was paid: use query "
        "with revenue.",
        {
            **_RANGE,
            "model": {"description": "first_touch, last_touch, last_non_direct, linear, ..."},
            "group_by": {"enum": ["campaign", "source", "medium", "term", "content", "channel", "lyr"]},
            "window_days": _COUNT,
            "event_name": _TEXT,
        },
        (),
        "get_attribution",
        is_open=True,
    ),
    "people": CompactTool(
        "Persons of a range, or with id one person with sessions, conversions and touches. Not for counts: use query.",
        {
            "id": _TEXT,
            **_RANGE,
            "search": _TEXT,
            "fields": _TEXTS,
            "sort": _TEXT,
            "limit": _COUNT,
            "offset": _COUNT,
        },
        is_open=True,
    ),
    "events": CompactTool(
        f"Raw events, newest first, {EVENT_ROWS} by default. Not for counts: use query.",
        {
            **_RANGE,
            "event_name": _TEXT,
            "user_id": _TEXT,
            "visitor_id": _TEXT,
            "fields": _TEXTS,
            "limit": _COUNT,
            "offset": _COUNT,
        },
        (),
        "list_events",
        is_open=True,
    ),
    "saved_work": CompactTool(
        "Lists what the workspace saved of a kind; with id gets one; run computes a report or dashboard. Not for new "
        "questions: use query; not to edit: use change.",
        {"kind": {"enum": list(SAVED_KINDS)}, "id": _TEXT, "run": _FLAG, **_RANGE},
        ("kind",),
        is_open=True,
    ),
    "change": CompactTool(
        "Calls a write tool of the catalog. Shows the change and makes none unless dry_run is false: show it, let the "
        "person agree, then apply. tool undo with audit_id takes an applied change back. create_export starts a file. "
        "Not for reads.",
        {"tool": _TEXT, "arguments": _OBJECT, "dry_run": {"type": "boolean", "default": True}},
        ("tool",),
        is_read=False,
    ),
    "catalog": CompactTool(
        "Ids of metrics and dimensions, names of tools; call it before the first query. With names: their definitions and "
        "argument schemas. Not for numbers.",
        {"names": _TEXTS},
    ),
    "search_docs": CompactTool(
        "How Touchpoint works, defines and computes things. Not for data of the workspace.",
        {"q": _TEXT},
        ("q",),
        "search_docs",
        is_open=True,
    ),
    "call_tool": CompactTool(
        "Calls any other read tool of the catalog. Not for what a tool of this list answers, and not for writes.",
        {"name": _TEXT, "arguments": _OBJECT},
        ("name",),
    ),
}
"""Name -> tool, in the order of the list."""
