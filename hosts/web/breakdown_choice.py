"""The choice of a dimension by which a page breaks its numbers down, and the words of its groups."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hosts.web.cards.json_values import collect_labels
from hosts.web.page_context import PageContext
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import ViewState
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.dimension_ids import PROPERTY_PREFIX

EVENT_BREAKDOWNS: Final = (
    "channel", "attribution_source", "utm_source", "utm_medium", "utm_campaign", "referrer_host", "landing_page",
    "page_path", "country", "region", "device_type", "browser", "os", "language",
)  # fmt: skip
"""Dimensions of events that pages offer."""

FIRST_TOUCH_BREAKDOWNS: Final = ("first_touch_channel", "first_touch_source", "first_touch_campaign")
"""Dimensions of the first touch of a person that pages offer."""

_VALUES_LIKE: Final[Mapping[str, str]] = {"first_touch_channel": "channel"}
"""Dimensions whose values have the words of another one."""


def chosen_breakdown(state: ViewState) -> str:
    """The dimension that the address names as ``by``; empty for one that no page offers."""
    dimension = dict(state.page_parameters).get("by", "")
    offered = (*EVENT_BREAKDOWNS, *FIRST_TOUCH_BREAKDOWNS)
    return dimension if dimension in offered or dimension.startswith(PROPERTY_PREFIX) else ""


def label_breakdowns(context: PageContext, dimensions: Sequence[str], state: ViewState) -> dict[str, str]:
    """Ids and labels of the dimensions, with none first, and with a property that the address names."""
    labels = collect_labels(context.component(Catalog))
    chosen = chosen_breakdown(state)
    properties = {chosen: chosen.removeprefix(PROPERTY_PREFIX)} if chosen.startswith(PROPERTY_PREFIX) else {}
    listed = {dimension: labels.get(dimension, dimension) for dimension in dimensions}
    return {"": "Nothing"} | listed | properties


def label_group(dimension: str, group: Mapping[str, Any]) -> str:
    """The words for a group of an answer."""
    if group["is_other"]:
        return "All others"
    return label_dimension_value(_VALUES_LIKE.get(dimension, dimension), group["value"])
