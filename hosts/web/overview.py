"""A workspace at a glance: its numbers for members and for whoever holds a key, drawn on the server."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from quart import Response, render_template, request

from hosts.composition.json_codec import CODEC
from hosts.web.cards.card import Answer, Card, DisplayContext
from hosts.web.cards.json_values import build_display_context, collect_labels
from hosts.web.cards.overview import build_overview_card
from hosts.web.cards.reports import build_breakdown_card
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from service_core.analytics.query.catalog import Catalog
from service_core.api.http_messages import ApiRequest, ApiResponse
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.date_range import DateRange
from service_core.kernel.timestamps import format_timestamp

RANGE_LABELS: Final = {"1": "Today", "7": "7 days", "30": "30 days", "90": "90 days"}
DEFAULT_RANGE: Final = "30"
_RANGE_PRESETS: Final = {"1": "today", "7": "last_7_days", "30": "last_30_days", "90": "last_90_days"}
_MAX_ROWS: Final = 8
_BREAKDOWNS: Final = (
    ("Referrers", "/traffic", "referrer"),
    ("Pages", "/traffic", "page"),
    ("Campaigns", "/traffic", "campaign"),
    ("Countries", "/locations", "country"),
    ("Browsers", "/devices", "browser"),
    ("Devices", "/devices", "device"),
)


async def redirect_to_workspace_or_show_home(context: PageContext) -> Response:
    """Whoever is signed in goes on to a workspace; anybody else may look with a key, in the browser alone."""
    if context.visitor.account is None:
        return await context.render_page("home.html")
    known = await context.list_memberships()
    return context.redirect_to(f"/w/{known[0][0].public_id}" if len(known) == 1 else "/workspaces")


async def render_workspace_overview(context: PageContext, public_id: str) -> Response:
    """Totals, their course, and where people come from."""
    workspace, member = await context.require_workspace(public_id)
    days = _chosen_range()
    caller = context.caller(workspace, member)
    answers = await _load_answers_or_first_error(
        partial(context.request_api_as_member_within_limit, caller),
        _date_parameters_of_preset(workspace.zone, caller.now, days),
    )
    if isinstance(answers, ApiResponse):
        error = CODEC.loads(answers.body)
        return await context.render_page(
            "error.html", answers.status, message=error["error"], hint=error.get("hint")
        )
    return await context.render_page(
        "workspace_overview.html",
        workspace=workspace,
        member=member,
        ranges=RANGE_LABELS,
        days=days,
        cards=_build_cards(answers, build_display_context(context.component(Catalog), workspace)),
    )


async def render_overview_with_api_key(context: PageContext) -> Response:
    """The same for whoever holds a key: asked of the API with it, within its budget, as any program asks."""
    workspace = await _request_with_key(context, "/workspace")
    if workspace.status != HTTPStatus.OK:
        return context.json_response(workspace.body.decode(), workspace.status)
    known, days = CODEC.loads(workspace.body), _chosen_range()
    setting = DisplayContext(
        ZoneInfo(known["timezone"]), known["currency"], collect_labels(context.component(Catalog))
    )
    dates = _date_parameters_of_preset(setting.zone, context.clock(), days)
    answers = await _load_answers_or_first_error(partial(_request_with_key, context), dates)
    if isinstance(answers, ApiResponse):
        return context.json_response(answers.body.decode(), answers.status)
    cards = _build_cards(answers, setting)
    body = await render_template(
        "key_overview.html", name=known["name"], ranges=RANGE_LABELS, days=days, cards=cards
    )
    return Response(body, 200, uncached_page_headers(), mimetype="text/html")


def _chosen_range() -> str:
    chosen = request.args.get("days", DEFAULT_RANGE)
    return chosen if chosen in RANGE_LABELS else DEFAULT_RANGE


def _date_parameters_of_preset(zone: ZoneInfo, now: datetime, range_id: str) -> dict[str, str]:
    resolved = DateRange(preset=_RANGE_PRESETS[range_id]).resolve(zone, now)
    return {
        "start_date": format_timestamp(resolved.span.start),
        "end_date": format_timestamp(resolved.inclusive_end),
    }


async def _load_answers_or_first_error(
    send_get_request: Callable[..., Awaitable[ApiResponse]], dates: dict[str, str]
) -> Sequence[Answer] | ApiResponse:
    """Returns the answers of the overview and of each breakdown, or the first response that is an error.

    Args:
        send_get_request: sends a GET request to a path of the API with query parameters.
        dates: the query parameters of the range.
    """
    responses = await gather_or_cancel(
        send_get_request("/overview", **dates),
        *(
            send_get_request(path, **dates, type=type_, limit=str(_MAX_ROWS))
            for _, path, type_ in _BREAKDOWNS
        ),
    )
    failed = next((response for response in responses if response.status != HTTPStatus.OK), None)
    return failed or [CODEC.loads(response.body) for response in responses]


async def _request_with_key(context: PageContext, path: str, **parameters: str) -> ApiResponse:
    """Sends a request with the key of the browser's request."""
    headers = {"authorization": request.headers.get("Authorization", "")}
    return await context.service.dispatch(ApiRequest("GET", f"/v1{path}", urlencode(parameters), headers))


def _build_cards(answers: Sequence[Answer], setting: DisplayContext) -> list[Card]:
    total, *lists = answers
    titled = zip(_BREAKDOWNS, lists, strict=True)
    return [
        build_overview_card(total, setting),
        *(build_breakdown_card(title, answer, setting) for (title, *_), answer in titled),
    ]


PAGES: Final = (
    Page("GET /", redirect_to_workspace_or_show_home),
    Page("GET /look", render_overview_with_api_key, is_public=True),
    Page("GET /w/<public_id>", render_workspace_overview),
)
