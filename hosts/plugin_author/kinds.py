"""The kinds of plugins that ``touchpoint plugin new`` makes. Most begin as the example of their page in the docs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class PluginKind:
    """A kind of plugin.

    Attributes:
        summary: what such a plugin provides.
        page: page of the docs with its example, relative to the docs; empty for a file in `TEMPLATES`.
        reads: names of the members of `PluginData` that it reads.
        hosts: hosts that the example calls.
        renamed: text of the example -> text with ``{name}``, ``{class_name}`` or ``{label}`` in it.
    """

    summary: str
    page: str = ""
    reads: tuple[str, ...] = ("EVENTS",)
    hosts: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


KINDS: Final[Mapping[str, PluginKind]] = {
    "revenue_provider": PluginKind(
        "receives webhooks about payments",
        "integrators/add-a-revenue-provider.md",
        reads=("PAYMENTS", "PERSONAL_DATA"),
        renamed={
            "corner_till": "{name}",
            "TestTill": "Test{class_name}",
            "Till": "{class_name}",
            '"till"': '"{name}"',
            '"Corner till"': '"{label}"',
        },
    ),
    "webhook_source": PluginKind(
        "turns webhooks of another product into events", reads=("EVENTS", "PERSONAL_DATA", "CREDENTIALS")
    ),
    "ad_platform": PluginKind(
        "reads the cost of ads",
        "integrators/add-an-ad-platform.md",
        reads=("CREDENTIALS",),
        hosts=("boards.example",),
        renamed={
            "corner_boards": "{name}",
            "TestBoards": "Test{class_name}",
            "Boards": "{class_name}",
            '"boards"': '"{name}"',
        },
    ),
    "conversion_sender": PluginKind(
        "sends conversions to a platform",
        "integrators/send-conversions.md",
        reads=("EVENTS", "PERSONAL_DATA", "CREDENTIALS"),
        hosts=("boards.example",),
        renamed={"corner_boards": "{name}", "TestBoards": "Test{class_name}", '"boards"': '"{name}"'},
    ),
    "attribution_model": PluginKind(
        "decides which touches a conversion is credited to",
        "contributors/add-an-attribution-model.md",
        renamed={
            "shop_models": "{name}",
            '"quick_decay"': '"{name}_decay"',
            '"presence"': '"{name}_presence"',
        },
    ),
    "metric_pack": PluginKind(
        "adds metrics and dimensions",
        "contributors/add-a-metric.md",
        renamed={
            "shop_metrics": "{name}",
            '"searches_per_visitor"': '"{name}_per_visitor"',
            '"search_term"': '"{name}_term"',
        },
    ),
    "resource": PluginKind(
        "adds records that programs write",
        "contributors/add-a-writable-resource.md",
        reads=("WORKSPACES",),
        renamed={"shop_notes": "{name}"},
    ),
    "operation": PluginKind("adds an endpoint", reads=("WORKSPACES",)),
    "page": PluginKind("adds a page to the web application"),
    "command": PluginKind("adds commands to the command line", reads=()),
    "ingest_protocol": PluginKind(
        "turns requests of another product into events", reads=("EVENTS", "PERSONAL_DATA")
    ),
    "import_source": PluginKind("reads files of another product", reads=("EVENTS", "PERSONAL_DATA")),
    "transform": PluginKind("changes or drops events before they are stored", reads=("EVENTS",)),
    "event_reaction": PluginKind("does something after events are stored", reads=("EVENTS",)),
    "scheduled_job": PluginKind("does something at an interval", reads=("EVENTS",)),
    "geo": PluginKind("finds the location of an IP address", reads=("PERSONAL_DATA",)),
    "limiter": PluginKind("counts rate limits", reads=()),
    "mail": PluginKind("sends e-mail", reads=("PERSONAL_DATA",)),
    "export_storage": PluginKind("stores export files", reads=("EVENTS", "PERSONAL_DATA")),
    "rate_source": PluginKind("reads exchange rates", reads=()),
}
"""Name of a kind -> the kind, in the order they are listed."""
