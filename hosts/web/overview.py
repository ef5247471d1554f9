"""A workspace at a glance: its numbers for whoever is a member, drawn on the server."""

import asyncio
from typing import Final

from quart import Response, request

from hosts.web.cards.card import Card
from hosts.web.cards.overview import overview_card
from hosts.web.cards.reports import breakdown_card
from hosts.web.cards.wire import on_wire, setting_of
from hosts.web.frame import Frame, Page
from service_core.access.model import Caller
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

RANGES: Final = {"1": "Today", "7": "7 days", "30": "30 days", "90": "90 days"}
USUAL: Final = "30"
_PRESETS: Final = {"1": "today", "7": "last_7_days", "30": "last_30_days", "90": "last_90_days"}
_ROWS: Final = 8
_LISTS: Final = (
    ("Referrers", TrafficQuery, get_traffic, "referrer"),
    ("Pages", TrafficQuery, get_traffic, "page"),
    ("Campaigns", TrafficQuery, get_traffic, "campaign"),
    ("Countries", LocationsQuery, get_locations, "country"),
    ("Browsers", DevicesQuery, get_devices, "browser"),
    ("Devices", DevicesQuery, get_devices, "device"),
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
    chosen = request.args.get("days", USUAL)
    days = chosen if chosen in RANGES else USUAL
    who = frame.caller(workspace, member)
    return await frame.page(
        "glance.html",
        workspace=workspace,
        member=member,
        ranges=RANGES,
        days=days,
        cards=await _cards(frame, who, _dates(who, days)),
    )


def _dates(who: Caller, days: str) -> dict[str, str]:
    asked = DateRange(preset=_PRESETS[days]).resolve(who.workspace.zone, who.now)
    return {"start_date": wire(asked.span.start), "end_date": wire(asked.last)}


async def _cards(frame: Frame, who: Caller, dates: dict[str, str]) -> list[Card]:
    questions, setting = frame.part(Questions), setting_of(frame.part(Catalog), who.workspace)
    known = {"who": who, "questions": questions}
    total, *lists = await asyncio.gather(
        get_overview(OverviewQuery.model_validate(dates), **known),
        *(read(model(**dates, type=type_, limit=_ROWS), **known) for _, model, read, type_ in _LISTS),
    )
    titled = zip(_LISTS, lists, strict=True)
    return [
        overview_card(on_wire(total), setting),
        *(breakdown_card(title, on_wire(answer), setting) for (title, *_), answer in titled),
    ]


PAGES: Final = (Page("GET /", front), Page("GET /w/<public_id>", glance))
