"""Public pages of reports, dashboards and analyses: read-only, for whoever has the address."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import UUID

from markupsafe import Markup
from quart import Response, render_template, request

from hosts.web.cards.card import Card, DisplayContext, message_card
from hosts.web.cards.json_values import build_display_context, to_json_values
from hosts.web.cards.outcomes import build_outcome_card
from hosts.web.cards.reports import build_report_card_by_answer_fields
from hosts.web.charts.time_labels import format_inclusive_range
from hosts.web.markdown import render_untrusted_markdown
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import public_page_headers
from hosts.web.public_page_password import (
    is_unlocked_for_browser,
    password_page,
    unlock_with_password,
)
from hosts.web.share_picture import draw_first_chart, has_chart
from hosts.web.view_state import RANGE_LABELS
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import ApiError, NotFound
from service_core.workspace.analyses.models import split_at_embeds
from service_core.workspace.analyses.run_analysis import AnalysisRun
from service_core.workspace.dashboards.run_dashboard import DashboardRun
from service_core.workspace.reports.run_batch import ReportOutcome
from service_core.workspace.reports.schemas import ReportRun
from service_core.workspace.share_links.access import SharedObject, ShareLinkAccess, ViewCounter
from service_core.workspace.share_links.cached_results import SharedResult, SharedResults


@dataclass(frozen=True, slots=True)
class RangeChoice:
    """A range that a reader may choose, by the query of its link; an empty one is the saved range."""

    label: str
    query: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class SharedPage:
    """What the template shows.

    Attributes:
        workspace: whose page it is, if it says so.
        range: what all cards cover, in words.
        cards: of a report or a dashboard.
        parts: of an analysis: a text and the card below it.
        notes: what holds for all cards.
        choices: ranges to choose from; empty if the owner allows none.
        picture: address of the picture for previews of the link; empty without a chart, or with a password.
    """

    title: str
    workspace: str | None
    range: str | None = None
    cards: Sequence[Card] = ()
    parts: Sequence[tuple[Markup, Card | None]] = ()
    notes: Sequence[str] = ()
    choices: Sequence[RangeChoice] = ()
    picture: str = ""

    @property
    def every_card(self) -> list[Card]:
        """The cards of the page in their order."""
        return [*self.cards, *(card for _, card in self.parts if card is not None)]

    @property
    def description(self) -> str:
        """The sentence that previews of the link show below the title."""
        owner = f"Shared by {self.workspace}" if self.workspace else "Shared with Touchpoint"
        return f"{owner}: {self.range}" if self.range else owner


async def render_shared_page_and_count_view(context: PageContext, token: str) -> Response:
    """The page of a token; the form for its password, if it has one that the browser has not entered."""
    try:
        publication = await _resolve_token_within_limit(context, token)
        if not is_unlocked_for_browser(context, publication):
            return await password_page(context, publication)
        body = await _cached_shared_page_html(context, publication, token)
    except ApiError as refusal:
        return await _unavailable_page(context, refusal)
    if request.method == "GET":
        sent = {name.lower(): value for name, value in request.headers.items()}
        await context.component(ViewCounter).count_view_unless_bot(publication.link, sent)
    headers = public_page_headers(embed_hosts=publication.link.embed_hosts)
    return Response(body, 200, headers, mimetype="text/html")


async def send_preview_picture(context: PageContext, token: str) -> Response:
    """The first chart of the page as PNG, for previews of the link; 404 without a chart, or with a password."""
    try:
        publication = await _resolve_token_within_limit(context, token)
        if publication.link.has_password:
            raise NotFound
        picture = await _cached_picture(context, publication)
        if picture is None:
            raise NotFound
    except ApiError as refusal:
        headers = {**public_page_headers(), **refusal.headers}
        return Response("", refusal.status, headers, mimetype="text/plain")
    return Response(picture, 200, public_page_headers(), mimetype="image/png")


async def unlock_shared_page(context: PageContext, token: str) -> Response:
    """Lead back to the page with the proof of its password in a cookie, or show the form again."""
    try:
        publication = await _resolve_token_within_limit(context, token)
    except ApiError as refusal:
        return await _unavailable_page(context, refusal)
    return await unlock_with_password(context, publication, token)


async def _resolve_token_within_limit(context: PageContext, token: str) -> SharedObject:
    """Returns what a token shares.

    Raises:
        TooManyRequests, NotFound, Gone: as `ShareLinkAccess`.
    """
    gate = context.component(ShareLinkAccess)
    await gate.count_request_and_check_limit(context.network_prefix)
    return await gate.resolve_token_of_active_link(token)


async def _unavailable_page(context: PageContext, refusal: ApiError) -> Response:
    message = "Page not found" if isinstance(refusal, NotFound) else refusal.message
    answer = await context.render_page("public_page_closed.html", refusal.status, message=message, done=None)
    answer.headers.update({**public_page_headers(), **refusal.headers})
    return answer


def _chosen_preset(publication: SharedObject) -> str | None:
    """The range in the address, if the owner allows it."""
    chosen = request.args.get("range")
    return chosen if chosen in publication.link.allowed_ranges else None


async def _read_result(
    context: PageContext, publication: SharedObject
) -> tuple[SharedResult, DisplayContext]:
    result = await context.component(SharedResults).get_result_at_most_a_minute_old(
        publication, _chosen_preset(publication)
    )
    return result, build_display_context(context.component(Catalog), publication.workspace)


async def _cached_shared_page_html(context: PageContext, publication: SharedObject, token: str) -> str:
    """The page as it is drawn once for everybody who looks within the minute of its answers."""
    link, preset = publication.link, _chosen_preset(publication)
    shared_result, setting = await _read_result(context, publication)

    async def render_shared_page() -> str:
        page = await asyncio.to_thread(_build_shared_page, publication, shared_result, setting)
        page = replace(page, choices=_range_choices(link.allowed_ranges, preset))
        if has_chart(page.every_card) and not link.has_password:
            query = f"?range={preset}" if preset else ""
            page = replace(page, picture=f"{context.web_url}/share/{token}/picture{query}")
        return await render_template("public_page.html", base=context.base, page=page)

    key = (
        link.id,
        publication.record.id,
        link.show_workspace_name,
        link.allowed_ranges,
        preset,
        shared_result.computed_at,
        shared_result.data_version,
    )
    return await context.drawn.get_or_compute(key, render_shared_page)


async def _cached_picture(context: PageContext, publication: SharedObject) -> bytes | None:
    """The picture as it is drawn once within the minute of its answers; None without a chart."""
    shared_result, setting = await _read_result(context, publication)

    def draw() -> bytes | None:
        return draw_first_chart(_build_shared_page(publication, shared_result, setting).every_card)

    record, preset = publication.record.id, _chosen_preset(publication)
    key = (record, preset, shared_result.computed_at, shared_result.data_version)
    return await context.pictures.get_or_compute(key, partial(asyncio.to_thread, draw))


def _range_choices(allowed_ranges: Sequence[str], chosen: str | None) -> list[RangeChoice]:
    """Returns the saved range and those that the owner allows; nothing if there is no choice."""
    if not allowed_ranges:
        return []
    presets = [
        RangeChoice(label_of_preset(name), f"?range={name}", name == chosen) for name in allowed_ranges
    ]
    return [RangeChoice("Default", "?", chosen is None), *presets]


def label_of_preset(name: str) -> str:
    """Returns what pages call a preset."""
    return RANGE_LABELS.get(name) or name.replace("_", " ").capitalize()


def _build_shared_page(
    publication: SharedObject, shared_result: SharedResult, setting: DisplayContext
) -> SharedPage:
    workspace, run = publication.workspace, shared_result.run
    page = SharedPage(
        publication.record.name, workspace.name if publication.link.show_workspace_name else None
    )
    if run is None:
        return replace(page, cards=[message_card(page.title, f"{shared_result.error}.", "lg")])
    if isinstance(run, AnalysisRun):
        return replace(page, parts=_analysis_texts_with_cards(run, shared_result, setting))
    covered = _format_covered_range(run.range, setting)
    if isinstance(run, ReportRun):
        card = build_report_card_by_answer_fields(
            to_json_values(run), _chart_type(shared_result, run.report.id), setting, "lg"
        )
        return replace(page, range=covered, cards=[card])
    cards = [_report_outcome_card(card, card.size, shared_result, setting) for card in run.cards]
    return replace(page, range=covered, cards=cards, notes=_format_filter_sentence_or_nothing(run, setting))


def _format_filter_sentence_or_nothing(run: DashboardRun, setting: DisplayContext) -> list[str]:
    """What the numbers are narrowed to; a reader could not tell otherwise."""
    values = (
        f"{setting.label(dashboard_filter.dimension)}: {dashboard_filter.value}"
        for dashboard_filter in run.filters
    )
    return [f"Filtered by {text}." for text in [", ".join(values)] if text]


def _analysis_texts_with_cards(
    run: AnalysisRun, shared_result: SharedResult, setting: DisplayContext
) -> list[tuple[Markup, Card | None]]:
    """The body with cards in the place of the lines that embed reports, each with its own range."""
    cards: Mapping[UUID, Card] = {
        outcome.report_id: replace(
            _report_outcome_card(outcome, "lg", shared_result, setting),
            covers=_format_covered_range(outcome.result.range, setting) if outcome.result else None,
        )
        for outcome in run.embeds
    }
    return [
        (render_untrusted_markdown(text), None if name is None else cards.get(UUID(name)))
        for text, name in split_at_embeds(run.body_md)
    ]


def _report_outcome_card(
    outcome: ReportOutcome, size: str, shared_result: SharedResult, setting: DisplayContext
) -> Card:
    report = shared_result.reports.get(outcome.report_id)
    name, chart = (report.name, report.chart) if report else (None, None)
    return build_outcome_card(to_json_values(outcome), name, chart, setting, size)


def _format_covered_range(covered: RangeResponse, setting: DisplayContext) -> str:
    return f"{format_inclusive_range(covered.from_, covered.to, setting.zone)}, {setting.zone.key}"


def _chart_type(shared_result: SharedResult, report_id: UUID) -> str | None:
    report = shared_result.reports.get(report_id)
    return report.chart if report else None


PAGES: Final = (
    Page("GET /share/<token>", render_shared_page_and_count_view, is_public=True),
    Page("GET /share/<token>/picture", send_preview_picture, is_public=True),
    Page("POST /share/<token>", unlock_shared_page, is_public=True),
)
