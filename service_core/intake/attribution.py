"""Attribution columns of an event row, and what a touch is later made of (semantics 7, 8.2, 22)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from service_core.access.rules import OwnChannel
from service_core.intake.addresses import pairs
from service_core.intake.campaign import COOKIE_IDS, UTM, Campaign, text
from service_core.intake.classify import DIRECT_VISIT, Attribution, Classifier
from service_core.intake.model import CAMPAIGN_COLUMNS, Event
from service_core.intake.page import Page
from service_core.intake.ports import SessionState

_CLICK_COLUMNS: Final = ("gclid", "gbraid", "wbraid", "fbclid", "ttclid", "oppref", "msclkid")
_NOTHING: Final = Campaign()


def attribution_columns(
    brought: Campaign,
    page: Page,
    session: SessionState | None,
    classifier: Classifier,
    channels: tuple[OwnChannel, ...] = (),
) -> dict[str, Any]:
    """The classification: the row's own, or else inherited from its session; and that of a touch.

    Args:
        brought: the campaign values of the event.
        page: its page and referrer.
        session: what is known of its session, None at the first event.
        classifier: source lists and channel rules.
        channels: the workspace's own channels.
    """
    referral = classifier.classify(_NOTHING, page.external, channels) if page.external else None
    own = referral if brought.empty else classifier.classify(brought, page.external, channels)
    in_url = not brought.empty and _contains(page.query, brought)
    carried = not in_url and _is_latest(brought, session)
    source, medium, channel = (referral if carried else own) or _inherited(session)
    return {
        "attribution_source": source,
        "attribution_medium": medium,
        "channel": channel,
        "attribution_carried": carried,
        "campaign_in_url": in_url,
        **_named("own", own),
        **_named("referral", referral),
    }


def campaign_columns(brought: Campaign, properties: Mapping[str, Any], *, denied: bool) -> dict[str, Any]:
    """The columns of campaign values; without consent no id of a click or of a browser."""
    columns: dict[str, Any] = {**brought.utm, "lyr": brought.lyr}
    if not denied:
        columns["click_id"], columns["click_id_type"] = brought.click
        columns |= {kind: brought.clicks[kind] for kind in _CLICK_COLUMNS if kind in brought.clicks}
        columns |= {name: text(properties[name]) for name in COOKIE_IDS if name in properties}
    return columns


def next_state(event: Event, session: SessionState | None) -> SessionState:
    """What is known of a session after one more of its events.

    One that comes late, from before all that are known, is where the session was entered and tells
    nothing of what came after it.
    """
    if session and event.timestamp < session.first_at:
        page = event.landing_page or session.landing_page
        return replace(session, first_at=event.timestamp, landing_page=page)
    values = tuple(getattr(event, column) for column in CAMPAIGN_COLUMNS)
    return SessionState(
        first_at=session.first_at if session else event.timestamp,
        landing_page=event.landing_page,
        attribution_source=event.attribution_source,
        attribution_medium=event.attribution_medium,
        channel=event.channel,
        last_campaign=values if any(values) else session.last_campaign if session else None,
    )


def _contains(query: str, brought: Campaign) -> bool:
    """Whether the query of the page holds every campaign value."""
    there = {value.strip() for value in pairs(query).values()} if query else set()
    return there.issuperset(brought.values())


def _is_latest(brought: Campaign, session: SessionState | None) -> bool:
    """Whether the values are those the session had last, so a client may just have kept them."""
    if session is None or session.last_campaign is None or brought.empty:
        return False
    utm = tuple(brought.utm.get(name) for name in UTM)
    return session.last_campaign == (*utm, *brought.click, brought.lyr)


def _inherited(session: SessionState | None) -> Attribution:
    if session and session.attribution_source and session.channel:
        return Attribution(session.attribution_source, session.attribution_medium or "", session.channel)
    return DIRECT_VISIT


def _named(prefix: str, found: Attribution | None) -> dict[str, str]:
    if found is None:
        return {}
    return {
        f"{prefix}_source": found.source,
        f"{prefix}_medium": found.medium,
        f"{prefix}_channel": found.channel,
    }
