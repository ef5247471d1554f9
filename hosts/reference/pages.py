"""Renders every reference page from the registry, the settings and the event columns."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from hosts.composition.load_settings import format_toml_value
from hosts.composition.ports import PORTS
from hosts.reference.markdown import format_code, render_page, render_section, render_table
from hosts.reference.operations import format_schema_type, render_operations_page
from hosts.reference.pictures import render_architecture_pictures
from hosts.reference.plugin_api import render_plugin_api_page
from hosts.reference.tools import render_tools_page
from service_core.access.billing_plans import BILLING_PLANS
from service_core.analytics.measures import FilterOperator, Relation
from service_core.analytics.reads.event_row import EventRowList
from service_core.delivery.lake.columns import EVENT_LAKE_COLUMNS, MONEY_TABLES, SCHEMA_VERSION, LakeColumn
from service_core.delivery.lake.models import DEFINITIONS, MANIFEST_NAME
from service_core.extensions.registry import Registry
from service_core.ingestion.channel_rules import RULES_VERSION
from service_core.ingestion.channel_rules.channels import CHANNEL_RULES
from service_core.ingestion.models import COLUMNS, WIRE_COLUMNS
from service_core.kernel.errors import ERROR_CODES
from service_core.kernel.settings import Settings

_TITLES: Final[Mapping[str, str]] = {
    "operations.md": "Every endpoint: parameters, body, answer, scope",
    "tools.md": "Every tool of the MCP server, and its route",
    "metrics.md": "Every metric and what it means",
    "dimensions.md": "Every dimension, and the filter operations",
    "models.md": "Attribution models",
    "channels.md": "Channel rules, in the order they are tried",
    "events.md": "Columns of an event",
    "lake.md": "Files of the lake: layout, manifest, columns",
    "errors.md": "Error codes by status",
    "settings.md": "Settings of a deployment",
    "adapters.md": "Installed adapters by port",
    "plans.md": "Plans and their limits",
    "plugin-api.md": "Every name plugins can import, with its meaning",
}

_DEFINITIONS: Final[Mapping[str, str]] = {
    "http-api.md": "Credentials, lists, errors, rate limits, writes",
    "time-and-ranges.md": "Event time, ranges, buckets, comparison",
    "identity.md": "Visitors, persons, and how ids are linked",
    "sessions-and-touches.md": "Sessions, touches, paths and attribution models",
    "traffic-sources.md": "Source, medium, click ids, channels, bots",
    "money-and-orders.md": "Orders, conversions, currencies, spend, subscriptions, profit",
    "funnels-and-retention.md": "Funnels, cohorts, lifetime value",
    "experiments.md": "Experiments: who takes part, and the formulas",
    "ledger-and-completeness.md": "Ledger, duplicates, freshness, unknown values",
}
"""Pages of definitions, which are written by hand."""


def render_reference_pages(registry: Registry, pyproject: Path = Path("pyproject.toml")) -> Mapping[str, str]:
    """Returns file name -> text of every page and picture, the index included.

    Args:
        registry: what is installed.
        pyproject: the file with the import contracts.
    """
    return {
        "index.md": _render_index(),
        "operations.md": render_operations_page(registry.operations),
        "tools.md": render_tools_page(registry.operations),
        "metrics.md": _render_metrics(registry),
        "dimensions.md": _render_dimensions(registry),
        "models.md": _render_attribution_models(registry),
        "channels.md": _render_channels(),
        "events.md": _render_event_columns(),
        "lake.md": _render_lake(),
        "errors.md": _render_errors(),
        "settings.md": _render_settings(),
        "adapters.md": _render_adapters(registry),
        "plans.md": _render_plans(),
        **render_architecture_pictures(registry, pyproject),
        "plugin-api.md": render_plugin_api_page(),
    }


def _render_index() -> str:
    def render_page_table(titles: Mapping[str, str]) -> str:
        rows = ((f"[{name.removesuffix('.md')}]({name})", title) for name, title in titles.items())
        return render_table(("page", "holds"), rows)

    return render_page(
        "Reference",
        "Generated pages are written from the declarations in the code.",
        render_section("Definitions", render_page_table(_DEFINITIONS)),
        render_section("Generated", render_page_table(_TITLES)),
    )


def _render_metrics(registry: Registry) -> str:
    catalog = registry.catalog
    sections = []
    for category in dict.fromkeys(metric.category for metric in catalog.metrics.values()):
        chosen = [metric for metric in catalog.metrics.values() if metric.category == category]
        rows = ((format_code(m.id), m.label, m.unit.value, m.additivity.value, m.description) for m in chosen)
        sections.append(
            render_section(
                category.capitalize(),
                render_table(("id", "label", "unit", "additivity", "definition"), rows),
            )
        )
    intro = (
        "Each id has one definition and one value: alone, in pairs, in `/overview`, bucketed or not. "
        "A metric whose source is not connected is unavailable, with a reason, and never zero. "
        "[Dimensions](dimensions.md) lists what each metric can be split by."
    )
    return render_page("Metrics", intro, *sections)


def _render_dimensions(registry: Registry) -> str:
    catalog = registry.catalog
    rows = (
        (
            format_code(d.id), d.label, d.description, format_code(d.null_label),
            ", ".join(dict.fromkeys(m.category for m in catalog.metrics.values() if d.id in m.dimensions)),
        )
        for d in catalog.dimensions.values()
    )  # fmt: skip
    operations = ", ".join(format_code(op.value) for op in FilterOperator)
    relations = render_section(
        "What measures count over", (Relation.__doc__ or "").partition("\n")[2].strip()
    )
    return render_page(
        "Dimensions and filters",
        f"A filter is `{{dimension, op, value}}`; `op` defaults to `eq`. Operations: {operations}.",
        render_table(("id", "label", "definition", "unknown value", "splits metrics of"), rows),
        relations,
    )


def _render_attribution_models(registry: Registry) -> str:
    rows = ((format_code(m.id), m.label, m.description) for m in registry.models.by_id.values())
    intro = "`attribution: {model, window_days}`; the default is `last_non_direct` over 30 days."
    return render_page("Attribution models", intro, render_table(("id", "label", "definition"), rows))


def _render_channels() -> str:
    rows = (
        (
            str(place),
            format_code(rule.id),
            " or ".join(_format_channel_condition(when) for when in rule.any_of),
        )
        for place, rule in enumerate(CHANNEL_RULES, 1)
    )
    intro = f"The first rule that matches names the channel. Version {RULES_VERSION} of the rules."
    return render_page("Channels", intro, render_table(("#", "channel", "condition"), rows))


def _format_channel_condition(condition: Any) -> str:
    criteria = {
        name: getattr(condition, name) for name in ("source", "medium", "campaign", "source_category", "fact")
    }
    parts = [f"{name} {format_code(value)}" for name, value in criteria.items() if value is not None]
    return " and ".join(parts) or "anything else"


def _render_event_columns() -> str:
    schema = TypeAdapter(EventRowList).json_schema(mode="serialization")
    row = schema["$defs"]["EventRow"]
    rows = (
        (
            format_code(name),
            field.get("format") or format_schema_type(field, schema),
            "yes" if {"type": "null"} in field.get("anyOf", ()) else "",
            field["description"],
        )
        for name, field in row["properties"].items()
    )
    intro = (
        "The row that `GET /events` and the `events` export show, in this order. Times are UTC, money is in major "
        "units of `currency`; what is absent is null, and an empty cell in CSV."
    )
    return render_page(
        "Event columns",
        intro,
        render_table(("column", "type", "null", "meaning"), rows),
        _render_internal_columns(),
    )


def _render_internal_columns() -> str:
    columns = COLUMNS[len(WIRE_COLUMNS) :]
    rows = ((format_code(f.name), f.description) for f in columns)
    intro = "Queries use them; no answer shows them."
    return render_section("Internal columns", intro, render_table(("column", "meaning"), rows))


def _render_lake() -> str:
    intro = (
        f"Each workspace has a folder named by its public id, with `{MANIFEST_NAME}` and "
        "`events/date=YYYY-MM-DD/<digest>.parquet`; further tables are in folders of their names. The manifest lists the files that belong together: read those, never "
        f"all that lie there. Version {SCHEMA_VERSION} of the layout."
    )
    terms = ((format_code(name), meaning) for name, meaning in DEFINITIONS.items())
    return render_page(
        "Lake",
        intro,
        render_section("Manifest", "Terms of the manifest.", render_table(("term", "meaning"), terms)),
        render_section(
            "Columns",
            "Those of the events, in the order of the files.",
            _render_lake_columns(EVENT_LAKE_COLUMNS),
        ),
        *(
            render_section(f"`{table.name}`", table.description, _render_lake_columns(table.columns))
            for table in MONEY_TABLES
        ),
    )


def _render_lake_columns(columns: Iterable[LakeColumn]) -> str:
    rows = (
        (format_code(c.name), c.type_name, "" if c.is_required else "yes", c.description) for c in columns
    )
    return render_table(("column", "type", "null", "meaning"), rows)


def _render_errors() -> str:
    intro = "Every error is a JSON object with `error`; consumers branch on `code`. A code keeps its meaning for ever."
    rows = (
        (str(status), ", ".join(format_code(name) for name in sorted(names)))
        for status, names in ERROR_CODES.items()
    )
    return render_page("Errors", intro, render_table(("status", "codes"), rows))


def _render_settings() -> str:
    sections = []
    for name, field in Settings.model_fields.items():
        model: Any = field.annotation
        rows = (
            (format_code(key), format_code(format_toml_value(f.default)), f.description or "")
            for key, f in model.model_fields.items()
        )
        about = (model.__doc__ or "").strip()
        sections.append(
            render_section(f"`[{name}]`", about, render_table(("setting", "default", "meaning"), rows))
        )
    intro = (
        "Lines of `touchpoint.toml`. `TOUCHPOINT_<SECTION>__<NAME>` in the environment wins over the file. A name that "
        "does not stand here stops the start."
    )
    return render_page("Settings", intro, *sections)


def _render_adapters(registry: Registry) -> str:
    sections = []
    for name, port in sorted(PORTS.items()):
        chosen = [adapter for (p, _), adapter in sorted(registry.adapters.items()) if p == name]
        rows = (
            (format_code(f"{a.scheme}://"), a.summary, ", ".join(_adapter_url_options(a.settings)))
            for a in chosen
        )
        protocols = ", ".join(
            format_code(protocol.__name__) for protocol in port.adapter_attribute_by_protocol
        )
        about = f"Setting {format_code(port.setting)}; an adapter is {protocols}."
        sections.append(
            render_section(
                f"`{name}`", about, render_table(("scheme", "adapter", "options of the URL"), rows)
            )
        )
    intro = (
        "A setting names an adapter by URL; the rest of the URL is its settings. What an adapter has to be are "
        "protocols of `service_core.plugin`, where the promise of each method stands."
    )
    return render_page("Adapters", intro, *sections)


def _adapter_url_options(settings_model: Any) -> Iterable[str]:
    parts = {"url", "path", "host", "port", "user", "password"}
    fields = ((f.alias or name, f) for name, f in settings_model.model_fields.items() if name not in parts)
    for name, f in fields:
        if f.is_required():
            yield f"`{name}` (required)"
        else:
            yield format_code(name if f.default is None else f"{name}={f.default}")


def _render_plans() -> str:
    rows = (
        (
            format_code(p.id),
            _format_limit(p.events_limit),
            _format_limit(p.postbacks_limit),
            _format_limit(p.max_key_rate_limit),
        )
        for p in BILLING_PLANS.values()
    )
    heads = ("plan", "events per month", "postbacks per month", "requests per minute and key, at most")
    return render_page(
        "Plans",
        "Limits of events and postbacks are soft: ingest goes on above them.",
        render_table(heads, rows),
    )


def _format_limit(value: int | None) -> str:
    return "unlimited" if value is None else f"{value:,}"
