"""Computes the traffic source columns of an event, and the session state for its next event."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from service_core.access.analytics_settings import CustomChannel
from service_core.ingestion.campaign import UTM_FIELDS, Campaign
from service_core.ingestion.event_names import is_system_event
from service_core.ingestion.models import EnrichedEvent, Event
from service_core.ingestion.page_context import PageContext
from service_core.ingestion.page_urls import stripped_query_values
from service_core.ingestion.ports import SessionState
from service_core.ingestion.traffic_classification import DIRECT_VISIT, TrafficClassifier, TrafficSource

_CLICK_ID_COLUMNS: Final = ("gclid", "gbraid", "wbraid", "fbclid", "ttclid", "oppref", "msclkid")
_NO_CAMPAIGN: Final = Campaign()
_NO_STATE: Final = SessionState(None)


class VisitorCampaign(NamedTuple):
    """The values of `CAMPAIGN_COLUMNS` of an event of a visitor, and its time."""

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
    origin = classify_event_origin(campaign, page, classifier, custom_channels, consent_denied=consent_denied)
    carried = repeats_last_campaign_of_visitor(origin, session_to_inherit_from)
    source, medium, channel = traffic_source_of_event(origin, session_to_inherit_from, carried=carried)
    return {
        "attribution_source": source,
        "attribution_medium": medium,
        "channel": channel,
        "attribution_carried": carried,
        **origin.columns(),
    }


class EventOrigin(NamedTuple):
    """What an event itself, without its session, says about where its visit came from.

    Attributes:
        own: by all that the event carries; None if it carries nothing.
        referral: by its external referrer alone; None without one.
        in_url: whether the address of the page has the campaign values.
        campaign_values: the values of `CAMPAIGN_COLUMNS`.
    """

    own: TrafficSource | None
    referral: TrafficSource | None
    in_url: bool
    campaign_values: tuple[str | None, ...]

    def columns(self) -> dict[str, Any]:
        """Returns the columns of the event that follow from it."""
        return {
            "campaign_in_url": self.in_url,
            **_traffic_columns_with_prefix("own", self.own),
            **_traffic_columns_with_prefix("referral", self.referral),
        }


def classify_event_origin(
    campaign: Campaign,
    page: PageContext,
    classifier: TrafficClassifier,
    custom_channels: tuple[CustomChannel, ...] = (),
    *,
    consent_denied: bool = False,
) -> EventOrigin:
    """Returns where an event says that its visit came from; the arguments are those of `traffic_source_columns`."""
    host, is_app = page.external_referrer_host, page.is_app_referrer
    referral = classifier.classify_visit(_NO_CAMPAIGN, host, custom_channels, is_app=is_app) if host else None
    own = (
        referral
        if campaign.is_empty
        else classifier.classify_visit(campaign, host, custom_channels, is_app=is_app)
    )
    in_url = not campaign.is_empty and _query_contains_campaign(page.query, campaign)
    utm = tuple(campaign.utm.get(name) for name in UTM_FIELDS)
    click_id = (None, None) if consent_denied else campaign.first_click_id
    return EventOrigin(own, referral, in_url, (*utm, *click_id, campaign.lyr))


def traffic_source_of_event(
    origin: EventOrigin, session: SessionState | None, *, carried: bool
) -> TrafficSource:
    """Returns where an event came from: its own origin, only its referral if it is carried, or that of its session."""
    return (origin.referral if carried else origin.own) or _session_traffic_source_or_direct(session)


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
        if began and state.last_campaign is None and state.last_campaign_at is None:
            return state
        return replace(state, last_campaign=None, last_campaign_at=None) if began else None
    if state.last_campaign == campaign.values and state.last_campaign_at == campaign.at:
        return state
    return replace(state, last_campaign=campaign.values, last_campaign_at=campaign.at)


def session_state_after_event(event: Event | EnrichedEvent, session: SessionState | None) -> SessionState:
    """Returns the session state after one more event.

    An event from before the start of the session only moves the start and the landing page. Later events inherit the
    source of an event that may be a touch, and the landing page of an event that is no system event.
    """
    state = session or _NO_STATE
    source: Event | EnrichedEvent | SessionState = state
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


def campaign_of_event(event: Event | EnrichedEvent) -> VisitorCampaign | None:
    """Returns the campaign values of an event with its time; None without any."""
    values = event.campaign_values
    return VisitorCampaign(event.timestamp, values) if any(values) else None


def latest_campaign(*campaigns: VisitorCampaign | None) -> VisitorCampaign | None:
    """Returns the latest of several campaigns, of equals the last one; None without any."""
    latest: VisitorCampaign | None = None
    for campaign in campaigns:
        if campaign is not None and (latest is None or campaign.at >= latest.at):
            latest = campaign
    return latest


def campaign_of_state(session: SessionState | None) -> VisitorCampaign | None:
    """Returns the latest campaign that a session state has."""
    if session is None or session.last_campaign is None or session.last_campaign_at is None:
        return None
    return VisitorCampaign(session.last_campaign_at, session.last_campaign)


def _query_contains_campaign(query: str, campaign: Campaign) -> bool:
    """Returns whether the page's query string contains every campaign value."""
    return stripped_query_values(query).issuperset(campaign.sent_values_and_link_tag())


def repeats_last_campaign_of_visitor(origin: EventOrigin, session: SessionState | None) -> bool:
    """Returns whether the stored values equal the visitor's latest ones and are not in the address of the page.

    The client may have kept them.
    """
    return not origin.in_url and session is not None and session.last_campaign == origin.campaign_values


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
