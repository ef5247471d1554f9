"""Filters of a view as parameters of reads that know only some of them, and the bar that offers those."""

from collections.abc import Iterable

from hosts.web.cards.json_values import collect_labels
from hosts.web.page_context import PageContext
from hosts.web.range_bar import DATES_ONLY, SEGMENTS_ONLY, Menu, RangeBar
from hosts.web.view_state import ViewState
from service_core.access.models import Workspace
from service_core.analytics.query.catalog import Catalog


def build_page_range_bar(
    context: PageContext,
    workspace: Workspace,
    path: str,
    state: ViewState,
    filters: Iterable[str],
    *,
    accepts_segments: bool = True,
) -> RangeBar:
    """The bar above a page whose reads filter by some dimensions.

    Args:
        context: of the application.
        workspace: of the page.
        path: of the page below the workspace.
        state: of the page.
        filters: ids of the dimensions; without any the bar offers no filter.
        accepts_segments: the reads of the page accept a segment.
    """
    labels = collect_labels(context.component(Catalog))
    offered = {dimension: labels.get(dimension, dimension) for dimension in filters}
    menus: frozenset[Menu] = SEGMENTS_ONLY if accepts_segments else DATES_ONLY
    if offered:
        menus |= {"filters"}
    ours = f"{context.base}/w/{workspace.public_id}"
    return RangeBar(state, f"{ours}{path}", offered, menus, f"{ours}/filter-values")


def skipped_filter_labels(context: PageContext, skipped: Iterable[str]) -> list[str]:
    """The names of dimensions a page cannot filter by, each once."""
    labels = collect_labels(context.component(Catalog))
    return [labels.get(dimension, dimension) for dimension in dict.fromkeys(skipped)]


def exact_filter_parameters(state: ViewState, accepted: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """The filters that a read with exact parameters can apply, and the dimensions of the others.

    Args:
        state: of the page.
        accepted: dimensions whose ids are parameters of the read.
    """
    known, skipped = frozenset(accepted), []
    parameters: dict[str, str] = {}
    for condition in state.filters:
        fits = condition.kind == "is" and len(condition.values) == 1 and condition.dimension in known
        if fits and condition.dimension not in parameters:
            parameters[condition.dimension] = condition.values[0]
        else:
            skipped.append(condition.dimension)
    return parameters, skipped
