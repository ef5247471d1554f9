"""Goals: what counts as a conversion in the workspace, how often it happens, and what it is worth; adding and removing one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer, DisplayContext
from hosts.web.cards.json_values import build_display_context
from hosts.web.change_preview import FormWrite, preview_or_save
from hosts.web.number_links import receipt_link
from hosts.web.overview_tabs import filterable_dimensions
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import FILTERS_AND_SEGMENTS, RangeBar
from hosts.web.settings_form import SETTING_LABELS
from hosts.web.value_labels import label_event_name
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.operations import Scope

MAX_GOALS: Final = 100
_VALUE: Final = "attributed_revenue"
_FIRST_STEP: Final = "page_view"


@dataclass(frozen=True, slots=True)
class GoalLine:
    """A goal in the table.

    Attributes:
        name: of its event.
        conversions, rate, visitors, value: in words; the value is empty where the goal brought no money, a dash where it is unknown.
        events_link, funnel_link: below the workspace.
        conversions_link, visitors_link: of the records that count, below the workspace; empty for no link.
    """

    name: str
    label: str
    conversions: str
    rate: str
    visitors: str
    value: str
    events_link: str
    funnel_link: str
    conversions_link: str = ""
    visitors_link: str = ""


async def show_goals(context: PageContext, public_id: str) -> Response:
    """Each goal with conversions, conversion rate, visitors and value in the range."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now)
    catalog = context.component(Catalog)
    settings, conversions, visitors, values = await gather_or_cancel(
        view.get("/workspace/settings"),
        _query_with_page_filters(view, state, ["conversions"], limit=MAX_GOALS, by_name=True),
        _query_with_page_filters(view, state, ["visitors"], by_name=False),
        _query_with_page_filters(view, state, [_VALUE], limit=MAX_GOALS, by_name=True),
    )
    setting = build_display_context(catalog, view.workspace)
    own_names = settings.data.get("conversions")
    lines = await _build_goal_lines(view, state, setting, (conversions, visitors, values), own_names or ())
    goals = [_link_numbers(line, catalog, state) for line in lines]
    return await view.render(
        "goals.html",
        bar=RangeBar(
            state,
            f"{context.base}{view.path}/goals",
            filterable_dimensions(catalog),
            FILTERS_AND_SEGMENTS,
            f"{context.base}{view.path}/filter-values",
        ),
        problem=None if conversions.ok else conversions.message,
        value_problem=None if values.ok else values.message,
        value_head=setting.label(_VALUE),
        goals=goals,
        own_names=own_names,
        may_write=view.may(Scope.WRITE_RULES),
        truncated=conversions.ok and conversions.body["meta"]["truncated"],
        total=_total(conversions, setting),
        total_link=receipt_link(catalog, state, "conversions"),
    )


async def _query_with_page_filters(
    view: WorkspaceView, state: ViewState, metrics: Sequence[str], *, by_name: bool, **plan: Any
) -> ApiResult:
    """Returns the answer of a query in the range and with the filters of the page."""
    body = {"metrics": list(metrics), **state.query_body_parts(with_comparison=False), **plan}
    return await view.send("POST", "/query", body | ({"dimensions": ["event_name"]} if by_name else {}))


async def _build_goal_lines(
    view: WorkspaceView,
    state: ViewState,
    setting: DisplayContext,
    reads: tuple[ApiResult, ApiResult, ApiResult],
    own_names: Sequence[str],
) -> list[GoalLine]:
    """Returns every goal with a conversion, the most frequent first, then the named goals without one."""
    conversions, visitors, values = reads
    if not conversions.ok:
        return []
    counted: Mapping[str, int] = {
        row["event_name"]: row["conversions"] for row in conversions.body["rows"] if row["conversions"]
    }
    is_whole = not state.is_filtered and not conversions.body["meta"]["truncated"]
    never = dict.fromkeys((name for name in own_names if name not in counted), 0) if is_whole else {}
    people = await _visitors_by_goal(view, state, list(counted))
    total = visitors.body["totals"]["visitors"] if visitors.ok else None
    value_by_goal = {row["event_name"]: row[_VALUE] for row in values.body["rows"]} if values.ok else {}
    return [
        _build_goal_line(
            name,
            count,
            total,
            setting,
            state,
            visitors=people.get(name),
            value=value_by_goal.get(name, 0.0) if values.ok else None,
        )
        for name, count in {**counted, **never}.items()
    ]


async def _visitors_by_goal(view: WorkspaceView, state: ViewState, names: Sequence[str]) -> dict[str, int]:
    """Returns how many visitors reached each goal; nothing where that cannot be read."""
    if not names:
        return {}
    parts = state.query_body_parts(with_comparison=False)
    only = {"dimension": "event_name", "op": "in", "value": list(names)}
    body = {"metrics": ["visitors"], "dimensions": ["event_name"], "limit": MAX_GOALS, **parts}
    result = await view.send("POST", "/query", body | {"filters": [*parts["filters"], only]})
    return {row["event_name"]: row["visitors"] for row in result.body["rows"]} if result.ok else {}


def _build_goal_line(
    name: str,
    conversions: int,
    all_visitors: int | None,
    setting: DisplayContext,
    state: ViewState,
    *,
    visitors: int | None,
    value: float | None,
) -> GoalLine:
    count, share = setting.format_for("count"), setting.format_for("ratio")
    rate = conversions / all_visitors if all_visitors else None
    return GoalLine(
        name,
        label_event_name(name),
        count.format_in_full_or_dash(conversions),
        share.format_in_full_or_dash(rate),
        count.format_in_full_or_dash(visitors if conversions else 0),
        "" if value == 0 else setting.format_for("currency").format_in_full_or_dash(value),
        f"/events{state.link(event_name=name)}",
        f"/funnels?{urlencode({**dict(state.parameters()), 'step1': _FIRST_STEP, 'step2': name})}",
    )


def _link_numbers(line: GoalLine, catalog: Catalog, state: ViewState) -> GoalLine:
    """Returns a goal whose counts lead to their records; those that are zero or unknown lead nowhere."""

    def link_of(metric: str, text: str) -> str:
        return "" if text in ("0", "—") else receipt_link(catalog, state, metric, [("event_name", line.name)])

    return replace(
        line,
        conversions_link=link_of("conversions", line.conversions),
        visitors_link=link_of("visitors", line.visitors),
    )


def _total(conversions: ApiResult, setting: DisplayContext) -> str:
    totals: Answer = conversions.body["totals"] if conversions.ok else {}
    return setting.format_for("count").format_in_full_or_dash(totals.get("conversions"))


async def change_goals(context: PageContext, public_id: str) -> Response:
    """Add an event to the goals of the workspace, or remove one; the other goals stay."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    settings = await view.get_or_fail("/workspace/settings")
    names = dict.fromkeys(settings["conversions"] or ())
    added, removed = context.form.text("add"), context.form.text("remove")
    names |= {added: None} if added else {}
    names.pop(removed, None)
    own_page = f"{view.path}/goals"
    body = {"conversions": list(names) or None, "expected_updated_at": settings["updated_at"]}
    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            "/workspace",
            {"workspace": body},
            back=own_page,
            leads_to=lambda _: own_page,
            labels=SETTING_LABELS,
        ),
    )


PAGES: Final = (
    Page("GET /w/<public_id>/goals", show_goals),
    Page("POST /w/<public_id>/goals", change_goals),
)
