"""One person: who they are, and what they did, newest first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from quart import Response, request

from hosts.web.charts.number_format import ValueFormat
from hosts.web.forms import drop_unstorable_characters
from hosts.web.page_context import Page, PageContext
from hosts.web.value_labels import label_dimension_value, label_event_name
from hosts.web.value_words import format_day, format_moment, humanize, person_name
from hosts.web.workspace_view import open_workspace_view
from service_core.access.models import Workspace
from service_core.analytics.attribution.models import AttributionModels
from service_core.kernel.errors import NotFound

WINDOWS: Final[Mapping[str, str]] = {"30": "30 days", "90": "90 days", "365": "1 year"}
DEFAULT_WINDOW: Final = "90"
_MAX_IDS: Final = 20


@dataclass(frozen=True, slots=True)
class TouchLine:
    """A touch before a conversion, and its share of the credit."""

    origin: str
    moment: str
    credit: str
    has_credit: bool


@dataclass(frozen=True, slots=True)
class ConversionLine:
    """A conversion, with the touches that led to it."""

    timestamp: str
    moment: str
    name: str
    revenue: str | None
    order_id: str | None
    touches: tuple[TouchLine, ...]
    sent_to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session, with its conversions; without facts if it is not among those listed."""

    timestamp: str
    moment: str
    facts: Mapping[str, Any] | None
    duration: str
    origin: str
    device: str
    revenue: str | None
    conversions: tuple[ConversionLine, ...]


async def show_person(context: PageContext, public_id: str, user_id: str) -> Response:
    """Identities, traits, totals and the timeline of a person."""
    view = await open_workspace_view(context, public_id)
    [(_, id_)] = drop_unstorable_characters([("id", request.args.get("id", user_id))])
    window = request.args.get("days", DEFAULT_WINDOW)
    window = window if window in WINDOWS else DEFAULT_WINDOW
    person = await view.get(f"/users/{quote(id_, safe='')}", window_days=window)
    if person.problem is not None and person.problem.status == HTTPStatus.NOT_FOUND:
        raise NotFound
    shown = _describe_person(context, view.workspace, person.data) if person.problem is None else {}
    return await view.render(
        "person.html",
        read=person,
        id=id_,
        windows={days: (words, _window_link(days)) for days, words in WINDOWS.items()},
        window=window,
        **shown,
    )


def _window_link(days: str) -> str:
    kept = {"id": request.args["id"]} if "id" in request.args else {}
    return f"?{urlencode({**kept, 'days': days})}"


def _describe_person(context: PageContext, workspace: Workspace, answer: Mapping[str, Any]) -> dict[str, Any]:
    user = answer["user"]
    return {
        "name": person_name(user),
        "user": user,
        "lifetime": _lifetime_figures(user, answer["currency"]),
        "identities": list(_list_identities(user)),
        "traits": user["traits"],
        "touches": _first_and_last_touch(user, workspace.zone),
        "first_seen": format_day(user["first_seen"], workspace.zone),
        "model": _model_label(context, answer["conversions"]),
        "days": _group_timeline_by_day(answer, workspace.zone),
    }


def _lifetime_figures(user: Mapping[str, Any], currency: str) -> list[tuple[str, str]]:
    count, money = ValueFormat(), ValueFormat("currency", currency)
    total = user["lifetime"]
    revenue = "unknown" if total["revenue"] is None else money.format_in_full_or_dash(total["revenue"])
    return [
        ("Revenue", revenue),
        *(
            (name.capitalize(), count.format_in_full_or_dash(total[name]))
            for name in ("orders", "conversions", "sessions", "events")
        ),
    ]


def _list_identities(user: Mapping[str, Any]) -> Iterator[tuple[str, list[str], int]]:
    """Yields kind, the first ids and the number of further ones."""
    kinds = (
        ("E-mail", [user["email"]] if user["email"] else []),
        ("User ID", [user["user_id"]] if user["user_id"] else []),
        ("Visitor IDs", user["visitor_ids"]),
        ("Anonymous IDs", user["anonymous_ids"]),
        *((f"External ID: {name}", [value]) for name, value in user["external_ids"].items()),
    )
    for label, ids in kinds:
        if ids:
            yield label, ids[:_MAX_IDS], max(0, len(ids) - _MAX_IDS)


def _first_and_last_touch(user: Mapping[str, Any], zone: ZoneInfo) -> list[tuple[str, str, str]]:
    return [
        (label, describe_origin(touch), format_moment(touch["timestamp"], zone))
        for label, touch in (("First touch", user["first_touch"]), ("Last touch", user["last_touch"]))
        if touch is not None
    ]


def describe_origin(touch: Mapping[str, Any]) -> str:
    """Source, medium, campaign and channel in words: ``google / cpc · spring (Paid search)``."""
    source = " / ".join(part for part in (touch["source"], touch["medium"]) if part and part != "(none)")
    campaign = f" · {touch['campaign']}" if touch["campaign"] else ""
    channel = f" ({humanize(touch['channel'])})" if touch["channel"] and source != "(direct)" else ""
    return "Direct" if source == "(direct)" and not campaign else f"{source or 'Unknown'}{campaign}{channel}"


def _model_label(context: PageContext, conversions: Sequence[Mapping[str, Any]]) -> str | None:
    """The model that weighs touches and its window in words; None without a conversion."""
    if not conversions:
        return None
    attribution = conversions[0]["attribution"]
    model = context.component(AttributionModels).by_id.get(attribution["model"])
    label = model.label if model else humanize(attribution["model"])
    return f"{label}, {attribution['window_days']} days"


def _group_timeline_by_day(answer: Mapping[str, Any], zone: ZoneInfo) -> list[tuple[str, list[SessionLine]]]:
    days: dict[str, list[SessionLine]] = {}
    lines = sorted(_session_lines(answer, zone), key=lambda line: line.timestamp, reverse=True)
    for line in lines:
        day = format_day(line.timestamp, zone)
        days.setdefault(day, []).append(line)
    return list(days.items())


def _session_lines(answer: Mapping[str, Any], zone: ZoneInfo) -> Iterator[SessionLine]:
    """Yields each session with its conversions, then the conversions of sessions that are not listed."""
    by_session: dict[str, list[ConversionLine]] = {}
    for conversion in answer["conversions"]:
        line = _build_conversion_line(conversion, answer["currency"], zone)
        by_session.setdefault(conversion["session_id"], []).append(line)
    for session in answer["sessions"]:
        yield _build_session_line(
            session, by_session.pop(session["session_id"], []), answer["currency"], zone
        )
    for lines in by_session.values():
        for line in lines:
            yield SessionLine(line.timestamp, line.moment, None, "", "", "", None, (line,))


def _build_session_line(
    session: Mapping[str, Any], conversions: Sequence[ConversionLine], currency: str, zone: ZoneInfo
) -> SessionLine:
    revenue = session["revenue"]
    parts = (
        session["device_type"],
        session["browser"],
        session["os"],
        session["city"] or (session["country"] and label_dimension_value("country", session["country"])),
    )
    return SessionLine(
        timestamp=session["started_at"],
        moment=_clock_time(session["started_at"], zone),
        facts=session,
        duration=ValueFormat("seconds").format_in_full_or_dash(session["duration_seconds"]),
        origin=describe_origin(session),
        device=" · ".join(humanize(part) for part in parts if part),
        revenue=ValueFormat("currency", currency).format_in_full_or_dash(revenue) if revenue else None,
        conversions=tuple(conversions),
    )


def _build_conversion_line(conversion: Mapping[str, Any], currency: str, zone: ZoneInfo) -> ConversionLine:
    money = ValueFormat("currency", conversion["currency"] or currency)
    revenue = conversion["revenue"]
    return ConversionLine(
        timestamp=conversion["timestamp"],
        moment=_clock_time(conversion["timestamp"], zone),
        name=label_event_name(conversion["event_name"]),
        revenue=None if revenue is None else money.format_in_full_or_dash(revenue),
        order_id=conversion["order_id"],
        touches=tuple(_build_touch_line(touch, zone) for touch in conversion["attribution"]["touches"]),
        sent_to=tuple(
            f"{humanize(postback['platform'])}: {postback['status']}" for postback in conversion["postbacks"]
        ),
    )


def _build_touch_line(touch: Mapping[str, Any], zone: ZoneInfo) -> TouchLine:
    return TouchLine(
        origin=describe_origin(touch),
        moment=format_moment(touch["timestamp"], zone),
        credit=ValueFormat("ratio").format_in_full_or_dash(touch["weight"]),
        has_credit=touch["weight"] > 0,
    )


def _clock_time(text: str, zone: ZoneInfo) -> str:
    return format_moment(text, zone).rpartition(", ")[2]


PAGES: Final = (Page("GET /w/<public_id>/people/<user_id>", show_person),)
