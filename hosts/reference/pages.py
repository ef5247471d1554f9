"""Every reference page by its file name, from the registry, the settings and the event row."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from hosts.composition.container import PORTS, SETTINGS
from hosts.composition.load import toml
from hosts.reference.markdown import code, page, section, table
from hosts.reference.operations import kind, operations_page
from hosts.reference.tools import tools_page
from service_core.access.plans import PLANS
from service_core.extension.registry import Registry
from service_core.insight.event_row import Rows
from service_core.insight.measures import Op, Relation
from service_core.intake.model import COLUMNS, WIRE_COLUMNS
from service_core.intake.rules import RULES_VERSION
from service_core.intake.rules.channels import CHANNELS
from service_core.kernel.errors import CODES
from service_core.kernel.settings import Settings

_TITLES: Final[Mapping[str, str]] = {
    "operations.md": "Every endpoint: parameters, body, answer, scope",
    "tools.md": "Every tool of the MCP server, and its route",
    "metrics.md": "Every metric and what it means",
    "dimensions.md": "Every dimension, and the filter operations",
    "models.md": "Attribution models",
    "channels.md": "Channel rules, in the order they are tried",
    "events.md": "Columns of an event",
    "errors.md": "Error codes by status",
    "settings.md": "Settings of a deployment",
    "adapters.md": "Installed adapters by port",
    "plans.md": "Plans and their limits",
}


def reference(registry: Registry) -> Mapping[str, str]:
    """File name -> text of every page, the index included."""
    return {
        "index.md": _index(),
        "operations.md": operations_page(registry.operations),
        "tools.md": tools_page(registry.operations),
        "metrics.md": _metrics(registry),
        "dimensions.md": _dimensions(registry),
        "models.md": _models(registry),
        "channels.md": _channels(),
        "events.md": _events(),
        "errors.md": _errors(),
        "settings.md": _settings(),
        "adapters.md": _adapters(registry),
        "plans.md": _plans(),
    }


def _index() -> str:
    rows = ((f"[{name.removesuffix('.md')}]({name})", title) for name, title in _TITLES.items())
    return page("Reference", "Written from the declarations in the code.", table(("page", "holds"), rows))


def _metrics(registry: Registry) -> str:
    catalog = registry.catalog
    sections = []
    for category in dict.fromkeys(metric.category for metric in catalog.metrics.values()):
        chosen = [metric for metric in catalog.metrics.values() if metric.category == category]
        rows = ((code(m.id), m.label, m.unit.value, m.additivity.value, m.description) for m in chosen)
        sections.append(
            section(
                category.capitalize(),
                table(("id", "label", "unit", "additivity", "definition"), rows),
            )
        )
    intro = (
        "Each id has one definition and one value: alone, in pairs, in `/overview`, bucketed or not. "
        "A metric whose source is not connected is unavailable, with a reason, and never zero. "
        "[Dimensions](dimensions.md) lists what each metric can be split by."
    )
    return page("Metrics", intro, *sections)


def _dimensions(registry: Registry) -> str:
    catalog = registry.catalog
    rows = (
        (
            code(d.id), d.label, d.description, code(d.absent),
            ", ".join(dict.fromkeys(m.category for m in catalog.metrics.values() if d.id in m.dimensions)),
        )
        for d in catalog.dimensions.values()
    )  # fmt: skip
    operations = ", ".join(code(op.value) for op in Op)
    relations = section("What measures count over", (Relation.__doc__ or "").partition("\n")[2].strip())
    return page(
        "Dimensions and filters",
        f"A filter is `{{dimension, op, value}}`; `op` defaults to `eq`. Operations: {operations}.",
        table(("id", "label", "definition", "unknown value", "splits metrics of"), rows),
        relations,
    )


def _models(registry: Registry) -> str:
    rows = ((code(m.id), m.label, m.description) for m in registry.models.by_id.values())
    intro = "`attribution: {model, window_days}`; the default is `last_non_direct` over 30 days."
    return page("Attribution models", intro, table(("id", "label", "definition"), rows))


def _channels() -> str:
    rows = (
        (str(place), code(rule.id), " or ".join(_condition(when) for when in rule.any_of))
        for place, rule in enumerate(CHANNELS, 1)
    )
    intro = f"The first rule that matches names the channel. Version {RULES_VERSION} of the rules."
    return page("Channels", intro, table(("#", "channel", "condition"), rows))


def _condition(when: Any) -> str:
    told = {name: getattr(when, name) for name in ("source", "medium", "campaign", "within", "fact")}
    parts = [f"{name} {code(value)}" for name, value in told.items() if value is not None]
    return " and ".join(parts) or "anything else"


def _events() -> str:
    schema = TypeAdapter(Rows).json_schema(mode="serialization")
    row = schema["$defs"]["EventRow"]
    rows = (
        (
            code(name),
            field.get("format") or kind(field, schema),
            "yes" if {"type": "null"} in field.get("anyOf", ()) else "",
            field["description"],
        )
        for name, field in row["properties"].items()
    )
    intro = (
        "The row that `GET /events` and the `events` export show, in this order. Times are UTC, money is in major "
        "units of `currency`; what is absent is null, and an empty cell in CSV."
    )
    return page("Event columns", intro, table(("column", "type", "null", "meaning"), rows), _hidden())


def _hidden() -> str:
    columns = COLUMNS[len(WIRE_COLUMNS) :]
    rows = ((code(f.name), f.about) for f in columns)
    told = "For the questions; no answer shows it."
    return section("What is kept beside them", told, table(("column", "meaning"), rows))


def _errors() -> str:
    intro = "Every error is a JSON object with `error`; consumers branch on `code`. A code keeps its meaning for ever."
    rows = ((str(status), ", ".join(code(name) for name in sorted(names))) for status, names in CODES.items())
    return page("Errors", intro, table(("status", "codes"), rows))


def _settings() -> str:
    sections = []
    for name, field in Settings.model_fields.items():
        model: Any = field.annotation
        rows = (
            (code(key), code(toml(f.default)), f.description or "") for key, f in model.model_fields.items()
        )
        about = (model.__doc__ or "").strip()
        sections.append(section(f"`[{name}]`", about, table(("setting", "default", "meaning"), rows)))
    intro = (
        "Lines of `touchpoint.toml`. `TOUCHPOINT_<SECTION>__<NAME>` in the environment wins over the file. A name that "
        "does not stand here stops the start."
    )
    return page("Settings", intro, *sections)


def _adapters(registry: Registry) -> str:
    sections = []
    for port in sorted(PORTS):
        chosen = [adapter for (p, _), adapter in sorted(registry.adapters.items()) if p == port]
        rows = ((code(f"{a.scheme}://"), a.summary, ", ".join(_options(a.settings))) for a in chosen)
        kept = ", ".join(code(protocol.__name__) for protocol in PORTS[port])
        about = f"Setting {code(SETTINGS[port])}; an adapter is {kept}."
        sections.append(section(f"`{port}`", about, table(("scheme", "adapter", "options of the URL"), rows)))
    intro = (
        "A setting names an adapter by URL; the rest of the URL is its settings. What an adapter has to be are "
        "protocols of `service_core.plugin`, where the promise of each method stands."
    )
    return page("Adapters", intro, *sections)


def _options(model: Any) -> Iterable[str]:
    parts = {"url", "path", "host", "port", "user", "password"}
    fields = ((f.alias or name, f) for name, f in model.model_fields.items() if name not in parts)
    for name, f in fields:
        if f.is_required():
            yield f"`{name}` (required)"
        else:
            yield code(name if f.default is None else f"{name}={f.default}")


def _plans() -> str:
    rows = (
        (code(p.id), _limit(p.events_limit), _limit(p.postbacks_limit), _limit(p.key_cap))
        for p in PLANS.values()
    )
    heads = ("plan", "events per month", "postbacks per month", "requests per minute and key, at most")
    return page(
        "Plans", "Limits of events and postbacks are soft: ingest goes on above them.", table(heads, rows)
    )


def _limit(value: int | None) -> str:
    return "unlimited" if value is None else f"{value:,}"
