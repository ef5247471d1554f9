"""Public pages of reports, dashboards and analyses: read-only, for whoever has the address (contract 5.8)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from markupsafe import Markup
from quart import Response, render_template, request

from hosts.web.cards.card import Card, Setting, message
from hosts.web.cards.reports import report_card
from hosts.web.cards.wire import on_wire, setting_of
from hosts.web.charts.days import span
from hosts.web.frame import Frame, Page
from hosts.web.prose import prose
from hosts.web.safety import PUBLIC_HEADERS, headers
from service_core.insight.catalog import Catalog
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.errors import NotFound, Refusal
from service_core.workspace.analyses.model import pieces
from service_core.workspace.analyses.run import AnalysisRun
from service_core.workspace.cards import Outcome
from service_core.workspace.dashboards.run import DashboardRun
from service_core.workspace.reports.answers import ReportRun
from service_core.workspace.share_links.answers import Found, PublicAnswers
from service_core.workspace.share_links.gate import Gate, Publication, Visitors

_WITHOUT_RESULT: Final = {
    "timeout": "This took too long to find out. Open the page again in a minute.",
    "missing": "This report was deleted.",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the template shows.

    Attributes:
        workspace: whose page it is, if it says so.
        range: what all cards cover, in words.
        cards: of a report or a dashboard.
        parts: of an analysis: a text and the card below it.
        notes: what holds for all cards.
    """

    title: str
    workspace: str | None
    range: str | None = None
    cards: Sequence[Card] = ()
    parts: Sequence[tuple[Markup, Card | None]] = ()
    notes: Sequence[str] = ()


async def shared(frame: Frame, token: str) -> Response:
    """The page of a token."""
    gate = frame.part(Gate)
    try:
        await gate.admit(frame.network)
        publication = await gate.find(token)
        body = await _drawn(frame, publication)
    except Refusal as refusal:
        return await _closed(frame, refusal)
    if request.method == "GET":
        sent = {name.lower(): value for name, value in request.headers.items()}
        await frame.part(Visitors).looked(publication.link, sent)
    return Response(body, 200, headers() | PUBLIC_HEADERS, mimetype="text/html")


async def _closed(frame: Frame, refusal: Refusal) -> Response:
    said = "There is no such page" if isinstance(refusal, NotFound) else refusal.message
    answer = await frame.page("share_closed.html", refusal.status, message=said, done=None)
    answer.headers.update({**PUBLIC_HEADERS, **refusal.headers})
    return answer


async def _drawn(frame: Frame, publication: Publication) -> str:
    """The page as it is drawn once for everybody who looks within the minute of its answers."""
    found = await frame.part(PublicAnswers).of(publication)
    setting = setting_of(frame.part(Catalog), publication.workspace)

    async def draw() -> str:
        shown = await asyncio.to_thread(_shown, publication, found, setting)
        return await render_template("share.html", base=frame.base, shown=shown)

    key = publication.subject.id, publication.link.show_workspace_name, found.since
    return await frame.drawn.get(key, draw)


def _shown(publication: Publication, found: Found, setting: Setting) -> Shown:
    workspace, run = publication.workspace, found.run
    shown = Shown(publication.subject.name, workspace.name if publication.link.show_workspace_name else None)
    if run is None:
        return replace(shown, cards=[message(shown.title, f"{found.wrong}.", "lg")])
    if isinstance(run, AnalysisRun):
        return replace(shown, parts=_parts(run, found, setting))
    covered = _range(run.range, setting)
    if isinstance(run, ReportRun):
        card = report_card(on_wire(run), _chart(found, run.report.id), setting, "lg")
        return replace(shown, range=covered, cards=[card])
    cards = [_card(card, card.size, found, setting) for card in run.cards]
    return replace(shown, range=covered, cards=cards, notes=_filters(run, setting))


def _filters(run: DashboardRun, setting: Setting) -> list[str]:
    """What the numbers are narrowed to; a reader could not tell otherwise."""
    told = (f"{setting.label(one.dimension)}: {one.value}" for one in run.filters)
    return [f"Filtered by {text}." for text in [", ".join(told)] if text]


def _parts(run: AnalysisRun, found: Found, setting: Setting) -> list[tuple[Markup, Card | None]]:
    """The body with cards in the place of the lines that embed reports, each with its own range."""
    cards: Mapping[UUID, Card] = {
        outcome.report_id: replace(
            _card(outcome, "lg", found, setting),
            covers=_range(outcome.result.range, setting) if outcome.result else None,
        )
        for outcome in run.embeds
    }
    return [
        (prose(text), None if name is None else cards.get(UUID(name))) for text, name in pieces(run.body_md)
    ]


def _card(outcome: Outcome, size: str, found: Found, setting: Setting) -> Card:
    if outcome.result is None:
        known = found.reports.get(outcome.report_id)
        why = f"{outcome.error.error}." if outcome.error else _WITHOUT_RESULT[outcome.status]
        return message(known.name if known else "A report", why, size)
    card = report_card(on_wire(outcome.result), _chart(found, outcome.report_id), setting, size)
    cut = ("Further rows are left out.",) if outcome.truncated else ()
    return replace(card, notes=(*card.notes, *cut))


def _range(covered: RangeAnswer, setting: Setting) -> str:
    return f"{span(covered.from_, covered.to, setting.zone)}, {setting.zone.key}"


def _chart(found: Found, report_id: UUID) -> str | None:
    report = found.reports.get(report_id)
    return report.chart if report else None


PAGES: Final = (Page("GET /share/<token>", shared, for_anybody=True),)
