"""The Explore page of a saved query."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from hosts.web.view_state import ViewState, merge_filter_parameters
from service_core.analytics.query.catalog import is_property_dimension

_KIND_OF_OPERATOR: Final = {
    "eq": "is", "in": "is", "neq": "is_not", "not_in": "is_not", "contains": "contains",
}  # fmt: skip
_CHART_OF_DIMENSION_COUNT: Final = {0: "number", 1: "list"}


def explore_link_of_plan(plan: Mapping[str, Any], state: ViewState) -> str | None:
    """Returns the path of the Explore page below the workspace that shows a saved query.

    Args:
        plan: of a report.
        state: the range and the filters of the page that has the link.

    Returns:
        None when the page has no form for a filter or a dimension of the query.
    """
    filters = plan.get("filters", [])
    dimensions = plan.get("dimensions", [])
    if not have_view_filters(filters) or any(map(is_property_dimension, dimensions)):
        return None
    interval = plan.get("interval")
    chart = "line" if interval else _CHART_OF_DIMENSION_COUNT.get(len(dimensions), "table")
    pairs = [
        *(
            (name, value)
            for name, value in state.parameters("interval")
            if name in {"range", "from", "to", "f"}
        ),
        *(("f", parameter) for one in filters for parameter in filter_parameters(one)),
        ("segment", str(plan.get("segment_id") or "")),
        ("metrics", ",".join(plan["metrics"])),
        ("dimensions", ",".join(dimensions)),
        ("chart", chart),
        ("interval", interval or ""),
    ]
    return f"/explore?{urlencode([pair for pair in pairs if pair[1]])}"


def have_view_filters(filters: Iterable[Mapping[str, Any]]) -> bool:
    """Whether forms and addresses of pages can say every one of these filters, and nothing else by it."""
    saved = list(filters)
    if not all(_has_kind_and_texts(one) for one in saved):
        return False
    each = [merge_filter_parameters(filter_parameters(one)) for one in saved]
    together = merge_filter_parameters(part for one in saved for part in filter_parameters(one))
    return all(len(some) == 1 for some in each) and together == tuple(some[0] for some in each)


def _has_kind_and_texts(saved_filter: Mapping[str, Any]) -> bool:
    value = saved_filter.get("value")
    values = value if isinstance(value, list) else [value]
    return saved_filter.get("op", "eq") in _KIND_OF_OPERATOR and all(isinstance(one, str) for one in values)


def filter_parameters(saved_filter: Mapping[str, Any]) -> list[str]:
    """The values of ``f`` in an address that say a saved filter."""
    value = saved_filter["value"]
    kind = _KIND_OF_OPERATOR[saved_filter.get("op", "eq")]
    return [
        f"{saved_filter['dimension']}:{kind}:{part}"
        for part in (value if isinstance(value, list) else [value])
    ]
