"""Filters in the form of an alert: those it has stay while they are checked, and one more can be added."""

from collections.abc import Sequence
from typing import Any, Final

from hosts.web.cards.card import Answer
from hosts.web.explore_link import filter_parameters, have_view_filters
from hosts.web.forms import FormFields
from hosts.web.overview_tabs import filterable_dimensions
from hosts.web.page_context import PageContext
from hosts.web.segments import describe_filters
from hosts.web.view_state import FILTER_LABELS, merge_filter_parameters
from service_core.analytics.query.catalog import Catalog

KEEPS_OTHER_FILTERS: Final = "keeps_filters"
"""Field of the form of an alert whose filters only the API can say."""


def filter_choices(context: PageContext, parameters: Sequence[str]) -> dict[str, Any]:
    """Returns what the form shows: each filter as a value of ``f`` with its words, and what another can be.

    Args:
        context: of the application.
        parameters: the filters, as values of ``f``.
    """
    return {
        "filters": [
            (parameter, describe_filters(context, [one.body])[0])
            for parameter in parameters
            for one in merge_filter_parameters([parameter])
        ],
        "dimensions": filterable_dimensions(context.component(Catalog)),
        "kinds": FILTER_LABELS,
    }


def filter_values_of_alert(alert: Answer) -> dict[str, Any]:
    """Returns the filters that the form of a stored alert starts with."""
    if not have_view_filters(alert["filters"]):
        return {"f": [], KEEPS_OTHER_FILTERS: "1"}
    return {"f": [parameter for one in alert["filters"] for parameter in filter_parameters(one)]}


def explore_parameters(alert: Answer) -> list[tuple[str, str]] | None:
    """Returns the parameters of the Explore page that draws the metric of an alert; None where it lacks a filter."""
    if not have_view_filters(alert["filters"]):
        return None
    filters = [("f", parameter) for one in alert["filters"] for parameter in filter_parameters(one)]
    return [("metrics", alert["metric_id"]), ("chart", "line"), *filters]


def filter_parameters_of_form(form: FormFields) -> list[str]:
    """Returns the filters that stayed checked and the one that was added, as values of ``f``."""
    value = form.text("filter_value").strip()
    added = f"{form.text('filter_dimension')}:{form.text('filter_kind')}:{value}"
    return [*form.all("f"), *([added] if value else [])]


def filters_of_form(form: FormFields) -> dict[str, Any]:
    """Returns the filters as a field of the API; nothing where the form cannot say those of the alert."""
    if form.text(KEEPS_OTHER_FILTERS):
        return {}
    return {"filters": [one.body for one in merge_filter_parameters(filter_parameters_of_form(form))]}
