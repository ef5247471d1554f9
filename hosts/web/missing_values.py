"""Why values of an answer are unknown, in sentences, and what a person can do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hosts.web.cards.card import Number
from hosts.web.cards.json_values import collect_labels
from hosts.web.charts.number_format import ValueFormat
from hosts.web.page_context import PageContext
from service_core.analytics.connections.models import ProviderKind
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.query.catalog import Catalog

_SENTENCES: Final[Mapping[str, tuple[str, str, str]]] = {
    "no_revenue_provider": (
        "No revenue provider is connected, so only money that your events report is known.",
        "Connect a revenue provider",
        "/settings/connections",
    ),
    "no_ad_platform": (
        "No ad platform is connected, so ad spend is unknown.",
        "Connect an ad platform",
        "/settings/connections",
    ),
    "no_cost_data": (
        "No item costs are known, so profit cannot be computed.",
        "Import item costs",
        "deployers/item-costs",
    ),
    "fees_unknown": ("Payment fees are not known.", "Set up payment fees", "deployers/fees"),
    "no_history": ("There is no record of these numbers as they were at that moment.", "", ""),
    "missing_fx_rate": (
        "Some amounts are in a currency without an exchange rate.",
        "Set up exchange rates",
        "deployers/exchange-rates",
    ),
    "multiple_platforms": (
        "Several ad platforms claim conversions for themselves, so their claims do not add up to one number.",
        "",
        "",
    ),
    "insufficient_data": ("Not everything in this range reports these numbers.", "", ""),
    "source_error": (
        "A connected source could not be read.",
        "View connection",
        "/settings/connections",
    ),
    "plan": ("This is not part of the workspace's plan.", "", ""),
}
_PROVIDER_KINDS: Final = {
    "no_revenue_provider": ProviderKind.REVENUE,
    "no_ad_platform": ProviderKind.ADS,
}


def build_number(
    label: str,
    unit: ValueFormat,
    values: Mapping[str, Any],
    field: str,
    unavailable: Sequence[Mapping[str, Any]],
    *,
    link: str = "",
) -> Number:
    """A value with its label; a null that the answer gives no reason for, such as a division by zero, is a dash.

    Args:
        label: its name.
        unit: of the value.
        values: of the answer.
        field: which of them.
        unavailable: the fields that are unknown, each with its reason.
        link: address of the records behind a known value.
    """
    value = values[field]
    is_unknown = value is None and any(item["metric"].rpartition(".")[2] == field for item in unavailable)
    return Number(label, unit.format_in_full_or_dash(value), is_unknown, "" if value is None else link)


@dataclass(frozen=True, slots=True)
class MissingValues:
    """Values that are unknown for one reason.

    Attributes:
        fields: their names in words.
        sentence: the reason.
        action: what to do; empty if nothing can be done.
        path: of the page that does it below the workspace, with a leading slash, or of the page that says how below
            the documentation, without one.
        installed: ids of the providers that could be connected.
    """

    fields: tuple[str, ...]
    sentence: str
    action: str
    path: str
    installed: tuple[str, ...] = ()


def explain_missing_values(
    context: PageContext, unavailable: Sequence[Mapping[str, Any]]
) -> list[MissingValues]:
    """The reasons that ``unavailable`` of an answer lists, each with its fields."""
    labels = collect_labels(context.component(Catalog))
    fields: dict[str, list[str]] = {}
    for item in unavailable:
        if "platform" in item:
            continue
        name = item["metric"].rpartition(".")[2]
        label = labels.get(name) or labels.get(f"ad_{name}") or name.replace("_", " ").capitalize()
        known = fields.setdefault(item["reason"], [])
        if label not in known:
            known.append(label)
    providers = context.component(InstalledProviders)
    return [
        *_explain_platforms_without_spend(unavailable, labels),
        *(
            MissingValues(
                tuple(names),
                *_SENTENCES.get(reason, (f"{reason.replace('_', ' ').capitalize()}.", "", "")),
                providers.ids_of_kind(_PROVIDER_KINDS[reason]) if reason in _PROVIDER_KINDS else (),
            )
            for reason, names in fields.items()
        ),
    ]


def _explain_platforms_without_spend(
    unavailable: Sequence[Mapping[str, Any]], labels: Mapping[str, str]
) -> list[MissingValues]:
    """The ad platforms whose visits are left out of values, since nobody knows what they cost."""
    fields: dict[str, list[str]] = {}
    for item in unavailable:
        if "platform" in item:
            fields.setdefault(item["platform"], []).append(labels.get(item["metric"], item["metric"]))
    return [
        MissingValues(
            tuple(names),
            f"The spend of {platform} is not known, so revenue from its visits is excluded.",
            "Connect an ad platform",
            "deployers/connections",
        )
        for platform, names in fields.items()
    ]
