"""Derives traffic source, referrer, reported touches, location and referrer spam of stored events again.

Rules change: source lists, channel rules and custom channels of a workspace, the location database. The user agent of an
event is not stored, so its device and the bot signs of its user agent stay as they are. Without consent the click ids that
decided the source are not stored either: such an event stays as it is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Workspace
from service_core.ingestion.bot_detection import (
    INFORMATIONAL_REASONS,
    REFERRER_SPAM,
    deciding_bot_reason,
)
from service_core.ingestion.campaign import Campaign, parse_campaign_and_install_referrer
from service_core.ingestion.channel_rules import RULES_VERSION
from service_core.ingestion.consent import is_consent_denied
from service_core.ingestion.enrichment import LOCATED_SOURCES
from service_core.ingestion.event_source import API, BROWSER, MOBILE_APP, TOUCH_EVENTS, WEB
from service_core.ingestion.lru_cache import LruCache
from service_core.ingestion.models import CLASSIFICATION_COLUMNS, Event
from service_core.ingestion.page_context import PageContext, parse_page_context
from service_core.ingestion.ports import GeoLocator, SessionKey, SessionState
from service_core.ingestion.reported_touches import reported_touch_columns
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.traffic_source_columns import (
    VisitorCampaign,
    campaign_of_event,
    campaign_of_state,
    latest_campaign,
    session_state_after_event,
    session_state_before_event,
    traffic_source_columns,
)

_SESSION_CACHE_SIZE: Final = 200_000
_CLIENT_SOURCES: Final = frozenset({API, BROWSER, MOBILE_APP, WEB})
_NO_LINKS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})


class EventReenricher:
    """Enriches the stored events of one workspace again, in the order of their time.

    Args:
        workspace: provides domains, origins and custom channels.
        classifier: source lists and channel rules.
        geo: finds the location of an address; None without a database.
    """

    def __init__(self, workspace: Workspace, classifier: TrafficClassifier, geo: GeoLocator | None) -> None:
        self._workspace = workspace
        self._classifier = classifier
        self._geo = geo
        self._sessions: LruCache[SessionKey, SessionState] = LruCache(_SESSION_CACHE_SIZE)
        self._campaigns: LruCache[tuple[UUID, str], VisitorCampaign] = LruCache(_SESSION_CACHE_SIZE)

    def reenriched_events_that_differ(self, events: Iterable[Event]) -> list[Event]:
        """Returns the events whose columns differ now; later events inherit from sessions of earlier calls.

        Args:
            events: oldest first.
        """
        changed = []
        for event in events:
            again = self._enrich_and_advance_session(event)
            if replace(again, rules_version=event.rules_version) != event:
                changed.append(again)
        return changed

    def _enrich_and_advance_session(self, event: Event) -> Event:
        key = event.workspace_id, event.visitor_id, event.session_id
        session = self._sessions.get(key)
        campaign = latest_campaign(campaign_of_state(session), self._campaigns.get(key[:2]))
        known = session_state_before_event(session, campaign, event.timestamp)
        again = (
            event
            if is_consent_denied(event.event_data)
            else self._reenrich_without_changing_ids(event, known)
        )
        if not again.is_bot and event.from_device:
            self._sessions.put(key, session_state_after_event(again, session))
            if latest := latest_campaign(campaign, campaign_of_event(again)):
                self._campaigns.put(key[:2], latest)
        return again

    def _reenrich_without_changing_ids(self, event: Event, session: SessionState | None) -> Event:
        page = parse_page_context(event.event_data, self._workspace, self._classifier)
        campaign = _campaign_of_stored_event(event)
        columns: dict[str, Any] = dict.fromkeys(CLASSIFICATION_COLUMNS) | traffic_source_columns(
            campaign, page, session, self._classifier, self._workspace.rules.channels
        )
        bot = _bot_columns_with_referrer_spam(event, page)
        return replace(
            event,
            **columns,
            **bot,
            **self._location_columns(event),
            referrer_host=page.external_referrer_host,
            reported_touches=reported_touch_columns(
                event.event_data,
                event.timestamp,
                self._workspace,
                self._classifier,
                _NO_LINKS,
                consent_denied=False,
            ),
            touchable=not bot["is_bot"]
            and event.source in _CLIENT_SOURCES
            and (event.event_name in TOUCH_EVENTS or not campaign.is_empty),
            rules_version=RULES_VERSION,
        )

    def _location_columns(self, event: Event) -> dict[str, Any]:
        """Returns the location of an address that is still whole; nothing for one that was cut or is unknown."""
        if self._geo is None or event.ip is None or "/" in event.ip or event.source not in LOCATED_SOURCES:
            return {}
        location = self._geo.locate(event.ip)
        return (
            {}
            if location is None
            else {name: getattr(location, name) for name in ("country", "region", "city", "timezone")}
        )


def _campaign_of_stored_event(event: Event) -> Campaign:
    """Returns the campaign of the properties; UTM values that came from a trackable link are those of the row."""
    campaign = parse_campaign_and_install_referrer(event.event_data)
    stored_utm = {
        name: value
        for name in ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id")
        if (value := getattr(event, name))
    }
    if event.lyr and stored_utm:
        campaign.fill_utm_from_link_if_none_sent({event.lyr: stored_utm})
    return campaign


def _bot_columns_with_referrer_spam(event: Event, page: PageContext) -> dict[str, Any]:
    """Returns the bot columns with the present list of spam referrers; providers' events are never of bots."""
    if event.source not in _CLIENT_SOURCES:
        return {"is_bot": event.is_bot, "bot_reasons": event.bot_reasons, "bot_reason": event.bot_reason}
    others = set(event.bot_reasons) - {REFERRER_SPAM}
    reasons = others | ({REFERRER_SPAM} if page.is_spam_referrer else set())
    is_bot = event.event_data.get("bot") is True or bool(reasons - INFORMATIONAL_REASONS)
    return {
        "is_bot": is_bot,
        "bot_reasons": tuple(sorted(reasons)),
        "bot_reason": deciding_bot_reason(reasons),
    }
