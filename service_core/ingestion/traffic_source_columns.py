"""Computes the traffic source columns of an event, and the session state for its next event."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple

from service_core.access.analytics_settings import CustomChannel
from service_core.ingestion.campaign import UTM_FIELDS, Campaign
from service_core.ingestion.event_names import is_system_event
from service_core.ingestion.models import CAMPAIGN_COLUMNS, Event
from service_core.ingestion.page_context import PageContext
from service_core.ingestion.page_urls import stripped_query_values
from service_core.ingestion.ports import SessionState
from service_core.ingestion.traffic_classification import DIRECT_VISIT, TrafficClassifier, TrafficSource

_CLICK_ID_COLUMNS: Final = ("gclid", "gbraid", "wbraid", "fbclid", "ttclid", "oppref", "msclkid")
_NO_CAMPAIGN: Final = Campaign()
_campaign_values: Final = attrgetter(*CAMPAIGN_COLUMNS)
_NO_STATE: Final = SessionState(None)


class VisitorCampaign(NamedTuple):
    """The `CAMPAIGN_COLUMNS` of an event of a visitor, and its time."""

    at: datetime
    values: tuple[str | None, ...]


def traffic_source_columns(
    campaign: Campaign,
    page: PageContext,
    session_to_inherit_from: SessionState | None,
    classifier: TrafficClassifier,
    custom_channels: tuple[CustomChannel, ...] = (),
    *,
    consent_denied: bool = False,
) -> dict[str, Any]:
    """Returns source, medium and channel of an event: its own, or those inherited from its session.

    Args:
        campaign: the campaign values of the event.
        page: its page and referrer.
        session_to_inherit_from: state of its session; None for the first event.
        classifier: source lists and channel rules.
        custom_channels: the workspace's own channels.
        consent_denied: whether the event keeps no click ids.
    """
    referral = (
        classifier.classify_visit(
            _NO_CAMPAIGN, page.external_referrer_host, custom_channels, is_app=page.is_app_referrer
        )
        if page.external_referrer_host
        else None
    )
    own = (
        referral
        if campaign.is_empty
        else classifier.classify_visit(
            campaign, page.external_referrer_host, custom_channels, is_app=page.is_app_referrer
        )
    )
    in_url = not campaign.is_empty and _query_contains_campaign(page.query, campaign)
    carried = not in_url and _repeats_last_campaign_of_visitor(
        campaign, session_to_inherit_from, consent_denied=consent_denied
    )
    source, medium, channel = (referral if carried else own) or _session_traffic_source_or_direct(
        session_to_inherit_from
    )
    return {
        "attribution_source": source,
        "attribution_medium": medium,
        "channel": channel,
        "attribution_carried": carried,
        "campaign_in_url": in_url,
        **_traffic_columns_with_prefix("own", own),
        **_traffic_columns_with_prefix("referral", referral),
    }


def campaign_columns_within_consent(
    campaign: Campaign, browser_ids: Mapping[str, str], *, consent_denied: bool
) -> dict[str, Any]:
    """Returns the columns of campaign values; without consent it leaves out click ids and browser ids."""
    columns: dict[str, Any] = {**campaign.utm, "lyr": campaign.lyr}
    if not consent_denied:
        columns["click_id"], columns["click_id_type"] = campaign.first_click_id
        columns |= {
            kind: campaign.click_ids[kind] for kind in _CLICK_ID_COLUMNS if kind in campaign.click_ids
        }
        columns |= browser_ids
    return columns


def session_state_before_event(
    session: SessionState | None, campaign: VisitorCampaign | None, timestamp: datetime
) -> SessionState | None:
    """Returns the part of a session's state that is from before an event; None for none.

    A row does not depend on the order of arrival: what began after an event does not affect it.

    Args:
        session: the state of the event's session.
        campaign: the latest campaign of its visitor.
        timestamp: the time of the event.
    """
    began = session is not None and session.first_at is not None and session.first_at <= timestamp
    state = session if session is not None and began else SessionState(None)
    if campaign is None or campaign.at > timestamp:
        return replace(state, last_campaign=None, last_campaign_at=None) if began else None
    return replace(state, last_campaign=campaign.values, last_campaign_at=campaign.at)


def session_state_after_event(event: Event, session: SessionState | None) -> SessionState:
    """Returns the session state after one more event.

    An event from before the start of the session only moves the start and the landing page. Later events inherit the
    source of an event that may be a touch, and the landing page of an event that is no system event.
    """
    state = session or _NO_STATE
    source: Event | SessionState = state
    page = None if is_system_event(event.event_name) else event.landing_page
    campaign = latest_campaign(campaign_of_state(state), campaign_of_event(event))
    values, at = (campaign.values, campaign.at) if campaign else (state.last_campaign, state.last_campaign_at)
    if state.first_at is not None and event.timestamp < state.first_at:
        first_at, landing_page = event.timestamp, page or state.landing_page
    else:
        first_at, landing_page = state.first_at or event.timestamp, state.landing_page or page
        source = event if event.touchable else state
    return SessionState(
        first_at,
        landing_page,
        source.attribution_source,
        source.attribution_medium,
        source.channel,
        values,
        at,
    )


def campaign_of_event(event: Event) -> VisitorCampaign | None:
    """Returns the campaign values of an event with its time; None without any."""
    values = _campaign_values(event)
    return VisitorCampaign(event.timestamp, values) if any(values) else None


def latest_campaign(*campaigns: VisitorCampaign | None) -> VisitorCampaign | None:
    """Returns the latest of several campaigns, of equals the last one; None without any."""
    known = [campaign for campaign in campaigns if campaign is not None]
    return max(reversed(known), key=lambda campaign: campaign.at, default=None)


def campaign_of_state(session: SessionState | None) -> VisitorCampaign | None:
    """Returns the latest campaign that a session state has."""
    if session is None or session.last_campaign is None or session.last_campaign_at is None:
        return None
    return VisitorCampaign(session.last_campaign_at, session.last_campaign)


def _query_contains_campaign(query: str, campaign: Campaign) -> bool:
    """Returns whether the page's query string contains every campaign value."""
    return stripped_query_values(query).issuperset(campaign.sent_values_and_link_tag())


def _repeats_last_campaign_of_visitor(
    campaign: Campaign, session: SessionState | None, *, consent_denied: bool
) -> bool:
    """Returns whether the stored values equal the visitor's latest ones, because the client may have kept them."""
    if session is None or session.last_campaign is None:
        return False
    utm = tuple(campaign.utm.get(name) for name in UTM_FIELDS)
    click_id = (None, None) if consent_denied else campaign.first_click_id
    return session.last_campaign == (*utm, *click_id, campaign.lyr)


def _session_traffic_source_or_direct(session: SessionState | None) -> TrafficSource:
    if session and session.attribution_source and session.channel:
        return TrafficSource(session.attribution_source, session.attribution_medium or "", session.channel)
    return DIRECT_VISIT


def _traffic_columns_with_prefix(prefix: str, traffic_source: TrafficSource | None) -> dict[str, str]:
    if traffic_source is None:
        return {}
    return {
        f"{prefix}_source": traffic_source.source,
        f"{prefix}_medium": traffic_source.medium,
        f"{prefix}_channel": traffic_source.channel,
    }
