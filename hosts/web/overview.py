"""A workspace at a glance: its numbers for members and for whoever holds a key, drawn on the server."""

from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from quart import Response, render_template, request

from hosts.composition.codec import CODEC
from hosts.web.cards.card import Answer, Card, Setting
from hosts.web.cards.overview import overview_card
from hosts.web.cards.reports import breakdown_card
from hosts.web.cards.wire import labels_of, on_wire, setting_of
from hosts.web.frame import Frame, Page
from hosts.web.safety import headers
from service_core.access.model import Caller
from service_core.gateway.exchange import Request
from service_core.gateway.exchange import Response as Answered
from service_core.insight.breakdowns import (
    DevicesQuery,
    LocationsQuery,
    TrafficQuery,
    get_devices,
    get_locations,
    get_traffic,
)
from service_core.insight.catalog import Catalog
from service_core.insight.overview import OverviewQuery, get_overview
from service_core.insight.query.questions import Questions
from service_core.kernel.date_range import DateRange
from service_core.kernel.instants import wire
from service_core.kernel.together import together

RANGES: Final = {"1": "Today", "7": "7 days", "30": "30 days", "90": "90 days"}
USUAL: Final = "30"
_PRESETS: Final = {"1": "today", "7": "last_7_days", "30": "last_30_days", "90": "last_90_days"}
_ROWS: Final = 8
_LISTS: Final = (
    ("Referrers", "/traffic", TrafficQuery, get_traffic, "referrer"),
    ("Pages", "/traffic", TrafficQuery, get_traffic, "page"),
    ("Campaigns", "/traffic", TrafficQuery, get_traffic, "campaign"),
    ("Countries", "/locations", LocationsQuery, get_locations, "country"),
    ("Browsers", "/devices", DevicesQuery, get_devices, "browser"),
    ("Devices", "/devices", DevicesQuery, get_devices, "device"),
)


async def front(frame: Frame) -> Response:
    """Whoever is signed in goes on to a workspace; anybody else may look with a key, in the browser alone."""
    if frame.visitor.account is None:
        return await frame.page("overview.html")
    known = await frame.store.memberships(frame.account.id)
    return frame.to(f"/w/{known[0][0].public_id}" if len(known) == 1 else "/workspaces")


async def glance(frame: Frame, public_id: str) -> Response:
    """Totals, their course, and where people come from."""
    workspace, member = await frame.workspace(public_id)
    days = _days()
    who = frame.caller(workspace, member)
    answers = await _found(frame, who, _dates(workspace.zone, who.now, days))
    return await frame.page(
        "glance.html",
        workspace=workspace,
        member=member,
        ranges=RANGES,
        days=days,
        cards=_cards(answers, setting_of(frame.part(Catalog), workspace)),
    )


async def look(frame: Frame) -> Response:
    """The same for whoever holds a key: asked of the API with it, within its budget, as any program asks."""
    workspace = await _asked(frame, "/workspace")
    if workspace.status != HTTPStatus.OK:
        return frame.data(workspace.body.decode(), workspace.status)
    known, days = CODEC.loads(workspace.body), _days()
    setting = Setting(ZoneInfo(known["timezone"]), known["currency"], labels_of(frame.part(Catalog)))
    dates = _dates(setting.zone, frame.clock(), days)
    answers = await together(
        _asked(frame, "/overview", **dates),
        *(_asked(frame, path, **dates, type=type_, limit=str(_ROWS)) for _, path, *_, type_ in _LISTS),
    )
    for answer in answers:
        if answer.status != HTTPStatus.OK:
            return frame.data(answer.body.decode(), answer.status)
    cards = _cards([CODEC.loads(answer.body) for answer in answers], setting)
    body = await render_template("look.html", name=known["name"], ranges=RANGES, days=days, cards=cards)
    return Response(body, 200, headers(), mimetype="text/html")


def _days() -> str:
    chosen = request.args.get("days", USUAL)
    return chosen if chosen in RANGES else USUAL


def _dates(zone: ZoneInfo, now: datetime, days: str) -> dict[str, str]:
    asked = DateRange(preset=_PRESETS[days]).resolve(zone, now)
    return {"start_date": wire(asked.span.start), "end_date": wire(asked.last)}


async def _found(frame: Frame, who: Caller, dates: dict[str, str]) -> Sequence[Answer]:
    known = {"who": who, "questions": frame.part(Questions)}
    found = await together(
        get_overview(OverviewQuery.model_validate(dates), **known),
        *(read(model(**dates, type=type_, limit=_ROWS), **known) for *_, model, read, type_ in _LISTS),
    )
    return [on_wire(answer) for answer in found]


async def _asked(frame: Frame, path: str, **parameters: str) -> Answered:
    sent = {"authorization": request.headers.get("Authorization", "")}
    return await frame.service.dispatch(Request("GET", f"/v1{path}", urlencode(parameters), sent))


def _cards(answers: Sequence[Answer], setting: Setting) -> list[Card]:
    total, *lists = answers
    titled = zip(_LISTS, lists, strict=True)
    return [
        overview_card(total, setting),
        *(breakdown_card(title, answer, setting) for (title, *_), answer in titled),
    ]


PAGES: Final = (
    Page("GET /", front),
    Page("GET /look", look, for_anybody=True),
    Page("GET /w/<public_id>", glance),
)
