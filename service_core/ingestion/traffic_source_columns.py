"""Computes the traffic source columns of an event, and the session state for its next event."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from service_core.access.analytics_settings import CustomChannel
from service_core.ingestion.campaign import UTM_FIELDS, Campaign
from service_core.ingestion.models import CAMPAIGN_COLUMNS, Event
from service_core.ingestion.page_context import PageContext
from service_core.ingestion.page_urls import parse_first_query_values
from service_core.ingestion.ports import SessionState
from service_core.ingestion.traffic_classification import DIRECT_VISIT, TrafficClassifier, TrafficSource

_CLICK_ID_COLUMNS: Final = ("gclid", "gbraid", "wbraid", "fbclid", "ttclid", "oppref", "msclkid")
_NO_CAMPAIGN: Final = Campaign()


def traffic_source_columns(
    campaign: Campaign,
    page: PageContext,
    session_to_inherit_from: SessionState | None,
    classifier: TrafficClassifier,
    custom_channels: tuple[CustomChannel, ...] = (),
) -> dict[str, Any]:
    """Returns source, medium and channel of an event: its own, or those inherited from its session.

    Args:
        campaign: the campaign values of the event.
        page: its page and referrer.
        session_to_inherit_from: state of its session; None for the first event.
        classifier: source lists and channel rules.
        custom_channels: the workspace's own channels.
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
    carried = not in_url and _repeats_last_campaign_of_session(campaign, session_to_inherit_from)
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


def session_state_after_event(event: Event, session: SessionState | None) -> SessionState:
    """Returns the session state after one more event.

    An event from before the start of the session only moves the start and the landing page.
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


def _query_contains_campaign(query: str, campaign: Campaign) -> bool:
    """Returns whether the page's query string contains every campaign value."""
    query_values = {value.strip() for value in parse_first_query_values(query).values()} if query else set()
    return query_values.issuperset(campaign.sent_values_and_link_tag())


def _repeats_last_campaign_of_session(campaign: Campaign, session: SessionState | None) -> bool:
    """Returns whether the values equal the session's latest ones, because the client may have stored them."""
    if session is None or session.last_campaign is None or campaign.is_empty:
        return False
    utm = tuple(campaign.utm.get(name) for name in UTM_FIELDS)
    return session.last_campaign == (*utm, *campaign.first_click_id, campaign.lyr)


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
