"""Parses the first and last touch that a client reports with an event.

A client may send the traffic source of its visitor as properties. Their names begin with ``first_touch_`` or
``last_touch_`` and continue with

- properties of an event with campaign values: UTM values, click ids, ``clickId`` with
  ``clickIdType``, ``lyr``, ``referrer``, ``url``;
- or the fields of a touch as answers show it: ``source``, ``medium``, ``campaign``, ``term``,
  ``content``, ``click_id``, ``click_id_type``, ``landing_page``.

``first_touch_timestamp`` and ``last_touch_timestamp`` contain the time, in the formats of event
times. A touch without a time, or with one before 2020 or after the event, is ignored; so is a touch without campaign
values and external referrer. It is classified like any visit. If both touches are equal, only the first is stored.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from service_core.access.models import Workspace
from service_core.ingestion.campaign import Campaign, parse_campaign_and_install_referrer
from service_core.ingestion.consent import strip_click_ids_from_url
from service_core.ingestion.event_time import EARLIEST_EVENT_TIME, parse_iso_or_epoch_time
from service_core.ingestion.models import CAMPAIGN_COLUMNS, TOUCH_POSITIONS
from service_core.ingestion.page_context import PageContext, parse_page_context
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.traffic_source_columns import campaign_columns_within_consent

_TIMESTAMP_FIELDS: Final = frozenset(f"{side}_touch_timestamp" for side in TOUCH_POSITIONS)
_UTM_ALIASES: Final = MappingProxyType(
    {name: f"utm_{name}" for name in ("source", "medium", "campaign", "term", "content")}
    | {"click_id": "clickId", "click_id_type": "clickIdType", "landing_page": "url"}
)


class _ReportedTouch(NamedTuple):
    """A touch reported by the client: time, campaign and page."""

    at: datetime
    campaign: Campaign
    page: PageContext


def link_tags_of_touches_without_utm(properties: Mapping[str, Any]) -> list[str]:
    """Returns the link tags of reported touches that have no UTM values of their own."""
    if _TIMESTAMP_FIELDS.isdisjoint(properties):
        return []
    touches = [
        parse_campaign_and_install_referrer(_touch_properties(properties, side)) for side in TOUCH_POSITIONS
    ]
    return [touch.lyr for touch in touches if touch.lyr and not touch.utm]


def reported_touch_columns(
    properties: Mapping[str, Any],
    event_time: datetime,
    workspace: Workspace,
    classifier: TrafficClassifier,
    utm_by_tag: Mapping[str, Mapping[str, str]],
    *,
    consent_denied: bool,
) -> Mapping[str, str] | None:
    """Returns the columns of the reported touches; None if the event reports none.

    Args:
        properties: properties of the event, secrets in page URLs redacted.
        event_time: time of the event.
        workspace: provides domains, origins and custom channels.
        classifier: source lists and channel rules.
        utm_by_tag: UTM values by link tag.
        consent_denied: whether consent was denied; click ids are left out then.
    """
    if _TIMESTAMP_FIELDS.isdisjoint(properties):
        return None
    columns: dict[str, str] = {}
    previous: Mapping[str, str] = {}
    for side in TOUCH_POSITIONS:
        touch = _parse_touch_unless_untimed_or_empty(properties, side, event_time, workspace, classifier)
        if touch:
            touch.campaign.fill_utm_from_link_if_none_sent(utm_by_tag)
        touch_columns = (
            _touch_columns(touch, workspace, classifier, consent_denied=consent_denied) if touch else {}
        )
        if touch_columns and touch_columns != previous:
            columns |= {f"{side}_{name}": value for name, value in touch_columns.items()}
        previous = touch_columns
    return columns or None


def _parse_touch_unless_untimed_or_empty(
    properties: Mapping[str, Any],
    position: str,
    event_time: datetime,
    workspace: Workspace,
    classifier: TrafficClassifier,
) -> _ReportedTouch | None:
    at = parse_iso_or_epoch_time(properties.get(f"{position}_touch_timestamp"))
    if at is None or not EARLIEST_EVENT_TIME <= at <= event_time:
        return None
    properties = _touch_properties(properties, position)
    touch = _ReportedTouch(
        at,
        parse_campaign_and_install_referrer(properties),
        parse_page_context(properties, workspace, classifier),
    )
    return None if touch.campaign.is_empty and touch.page.external_referrer_host is None else touch


def _touch_properties(properties: Mapping[str, Any], position: str) -> Mapping[str, Any]:
    """Returns the properties of a touch under the names that events use."""
    prefix = f"{position}_touch_"
    unprefixed = {
        name.removeprefix(prefix): value for name, value in properties.items() if name.startswith(prefix)
    }
    return {**{_UTM_ALIASES.get(name, name): value for name, value in unprefixed.items()}, **unprefixed}


def _touch_columns(
    touch: _ReportedTouch, workspace: Workspace, classifier: TrafficClassifier, *, consent_denied: bool
) -> Mapping[str, str]:
    """Returns the non-empty columns of a touch as text; its time is UTC."""
    campaign, page = touch.campaign, touch.page
    source = classifier.classify_visit(
        campaign, page.external_referrer_host, workspace.rules.channels, is_app=page.is_app_referrer
    )
    carried = campaign_columns_within_consent(campaign, {}, consent_denied=consent_denied)
    referrer = page.referrer
    columns = {
        "timestamp": touch.at.replace(tzinfo=None).isoformat(" ", "microseconds"),
        "own_source": source.source,
        "own_medium": source.medium,
        "own_channel": source.channel,
        **{name: carried.get(name) for name in CAMPAIGN_COLUMNS},
        "referrer": strip_click_ids_from_url(referrer) if referrer and consent_denied else referrer,
        "referrer_host": page.external_referrer_host,
        "landing_page": page.path,
    }
    return {name: value for name, value in columns.items() if value is not None}
