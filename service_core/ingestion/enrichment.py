"""Converts parsed events to event rows. Rows store the `RULES_VERSION` they were enriched with.

The result depends only on the received event, workspace and session state, so events can be enriched again when the
rules change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from service_core.access.models import Workspace
from service_core.ingestion.amounts import (
    parse_first_amount_in_minor_units,
    valid_charge_components_in_minor_units,
)
from service_core.ingestion.bot_detection import bot_columns, classify_bot, deciding_bot_reason
from service_core.ingestion.campaign import campaign_text, parse_campaign_and_install_referrer
from service_core.ingestion.channel_rules import RULES_VERSION
from service_core.ingestion.consent import (
    DENIED,
    is_consent_denied,
    is_cookie_or_address,
    strip_click_and_browser_ids,
    strip_click_ids_from_url,
)
from service_core.ingestion.device_columns import (
    columns_known_from_user_agent,
    first_accepted_language,
    names_app,
    sdk_reported_device_columns,
)
from service_core.ingestion.event_names import PAYMENT_FEE_EVENT, is_system_event
from service_core.ingestion.event_source import (
    API,
    BROWSER,
    MOBILE_APP,
    TOUCH_EVENTS,
    WEB,
    SdkUserAgents,
    reported_or_connection_ip,
    reported_user_agent,
    was_sent_by_or_for_device,
    webhook_provider,
)
from service_core.ingestion.imported_ids import row_id_of_import
from service_core.ingestion.imported_rows import IMPORTED_COLUMNS_HEADER, decode_imported_columns
from service_core.ingestion.models import (
    IMPORT_HEADER,
    STOREFRONT_HEADER,
    Event,
    QueuedEvent,
    ReceivedEvent,
)
from service_core.ingestion.page_context import PageContext, parse_page_context
from service_core.ingestion.parse_event import ParsedEvent
from service_core.ingestion.ports import GeoLocator, SessionState, UserAgentParser
from service_core.ingestion.reported_touches import reported_touch_columns
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.traffic_source_columns import (
    campaign_columns_within_consent,
    traffic_source_columns,
)
from service_core.ingestion.validation import text_of_string_or_number

_BROWSER_SOURCES: Final = frozenset({BROWSER, WEB})
LOCATED_SOURCES: Final = frozenset({BROWSER, WEB, MOBILE_APP})
ORDER_ID_PROPERTIES: Final = ("order_id", "orderId", "transaction_id")
PAYMENT_ID_PROPERTIES: Final = ("payment_id", "paymentId")
_MAX_ID_LENGTH: Final = 255
_NO_LINKS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})


class Enricher:
    """Enriches events with traffic source, device, location and bot classification.

    Args:
        devices: parses user agents.
        geo: finds the location of an IP address; None without a database.
        classifier: source lists and channel rules.
        sdk_user_agents: user agents of the project's SDKs; None for the default ones.
    """

    def __init__(
        self,
        devices: UserAgentParser,
        geo: GeoLocator | None,
        classifier: TrafficClassifier,
        sdk_user_agents: SdkUserAgents | None = None,
    ) -> None:
        self._devices = devices
        self._geo = geo
        self.classifier = classifier
        self._agents = sdk_user_agents or SdkUserAgents()

    def build_event_row(
        self,
        queued: QueuedEvent,
        parsed: ParsedEvent,
        *,
        workspace: Workspace,
        session: SessionState | None,
        high_rate: bool = False,
        utm_by_tag: Mapping[str, Mapping[str, str]] = _NO_LINKS,
    ) -> Event:
        """Returns the event row of a parsed event.

        Args:
            queued: the received event with its sequence number.
            parsed: the parsed body of that event.
            workspace: provides currency, domains, origins and custom channels.
            session: state of the event's session; None for its first event.
            high_rate: whether the visitor sends more events a minute than a person could.
            utm_by_tag: UTM values by link tag, for events with a tag and no UTM value.
        """
        arrival, properties = queued.arrival, parsed.properties
        denied = parsed.consent_denied
        source = self.event_source(parsed, arrival)
        page = parse_page_context(properties, workspace, self.classifier)
        campaign = parse_campaign_and_install_referrer(properties)
        campaign.fill_utm_from_link_if_none_sent(utm_by_tag)
        address = reported_or_connection_ip(parsed.ip, arrival.address, source)
        bot = self.bot_columns_unless_webhook(
            parsed, arrival, source, spam_referrer=page.is_spam_referrer, high_rate=high_rate
        )
        amount, currency = parse_first_amount_in_minor_units(properties, workspace.currency)
        event = Event(
            workspace_id=arrival.workspace_id,
            seq=queued.seq,
            event_id=arrival.event_id,
            received_at=arrival.received_at,
            source=source,
            **_name_time_and_identity_columns(parsed),
            **sdk_columns(parsed),
            **traffic_source_columns(
                campaign,
                page,
                session,
                self.classifier,
                workspace.rules.channels,
                consent_denied=denied,
            ),
            **campaign_columns_within_consent(campaign, parsed.browser_ids, consent_denied=denied),
            **page_columns(page, consent_denied=denied),
            landing_page=(session.landing_page if session else None) or page.path,
            revenue=amount,
            currency=currency,
            order_id=first_non_empty_id(properties, ORDER_ID_PROPERTIES),
            **self.device_columns_unless_webhook(parsed, arrival, source),
            **self.location_columns_of_end_user(address, source),
            **bot,
            is_test=properties.get("test") is True,
            event_data=properties_and_aliased_id(parsed, consent_denied=denied),
            ip=None if denied else address,
            reported_touches=reported_touch_columns(
                properties, parsed.timestamp, workspace, self.classifier, utm_by_tag, consent_denied=denied
            ),
            **_payment_id_and_charge_columns(arrival, parsed, amount, currency),
            touchable=not (bot.get("is_bot") or webhook_provider(arrival))
            and (parsed.name in TOUCH_EVENTS or not campaign.is_empty),
            interactive=properties.get("interactive") is not False and not is_system_event(parsed.name),
            rules_version=RULES_VERSION,
        )
        if imported := arrival.headers.get(IMPORTED_COLUMNS_HEADER):
            event = replace(event, **decode_imported_columns(imported))
            event = replace(event, bot_reason=deciding_bot_reason(event.bot_reasons))
        return event if was_sent_by_or_for_device(event) else replace(event, from_device=False)

    def event_source(self, parsed: ParsedEvent, arrival: ReceivedEvent) -> str:
        """Returns which kind of client sent an event, or the provider whose webhook it is."""
        return webhook_provider(arrival) or self._agents.classify_event_source(
            arrival.channel, arrival.user_agent, lambda: names_app(parsed.properties, parsed.context)
        )

    def bot_columns_unless_webhook(
        self,
        parsed: ParsedEvent,
        arrival: ReceivedEvent,
        source: str,
        *,
        spam_referrer: bool,
        high_rate: bool,
    ) -> dict[str, Any]:
        """Returns the bot columns of an event; none for a webhook."""
        if webhook_provider(arrival):
            return {}
        by_browser = source in _BROWSER_SOURCES
        agent = reported_user_agent(parsed.context) or (
            text_of_string_or_number(arrival.user_agent) if by_browser else None
        )
        device = self._devices.parse(agent) if agent else None
        is_bot, reasons = classify_bot(
            device,
            arrival.headers if by_browser else {},
            spam_referrer=spam_referrer,
            high_rate_as_note_only=high_rate,
            self_declared=parsed.properties.get("bot") is True,
        )
        return bot_columns(device, is_bot, reasons)

    def device_columns_unless_webhook(
        self, parsed: ParsedEvent, arrival: ReceivedEvent, source: str
    ) -> dict[str, Any]:
        """Returns the device columns of an event; none for a webhook."""
        if webhook_provider(arrival):
            return {}
        reported = reported_user_agent(parsed.context)
        if source == API:
            return columns_known_from_user_agent(self._devices.parse(reported)) if reported else {}
        agent = reported or text_of_string_or_number(arrival.user_agent)
        columns = sdk_reported_device_columns(parsed.properties, parsed.context)
        columns.setdefault("language", first_accepted_language(arrival.headers.get("accept-language")))
        return columns | columns_known_from_user_agent(self._devices.parse(agent) if agent else None)

    def location_columns_of_end_user(self, ip: str | None, source: str) -> dict[str, Any]:
        """Returns the location columns of an address; none unless an end user's client sent the event."""
        if ip is None or self._geo is None or source not in LOCATED_SOURCES:
            return {}
        location = self._geo.locate(ip)
        if location is None:
            return {}
        return {
            "country": location.country,
            "region": location.region,
            "city": location.city,
            "timezone": location.timezone,
        }


def _name_time_and_identity_columns(parsed: ParsedEvent) -> dict[str, Any]:
    """Returns the columns of name, time, ids and session."""
    return {
        "event_name": parsed.name,
        "timestamp": parsed.timestamp,
        "time_adjusted": parsed.time_adjusted,
        "visitor_id": parsed.ids.visitor_id,
        "anonymous_id": parsed.ids.anonymous_id,
        "distinct_id": parsed.ids.distinct_id,
        "user_id": parsed.ids.user_id,
        "strong_id": parsed.ids.strong_id,
        "sent_visitor_id": parsed.ids.sent_visitor_id,
        "session_id": parsed.session_id,
        "session_origin": parsed.session_origin,
        "external_ids": external_ids_within_consent(parsed),
    }


def external_ids_within_consent(parsed: ParsedEvent) -> Mapping[str, str] | None:
    """Returns the external ids of an event; without consent those that identify no browser."""
    external_ids = parsed.external_ids
    if not (parsed.consent_denied and external_ids):
        return external_ids
    return {name: id_ for name, id_ in external_ids.items() if not _is_browser_id(name)} or None


def sdk_columns(parsed: ParsedEvent) -> dict[str, Any]:
    """Returns name and version of the library that sent an event."""
    library, version = parsed.sdk
    return {"sdk_name": campaign_text(library) or "http", "sdk_version": campaign_text(version) or "0"}


def page_columns(page: PageContext, *, consent_denied: bool) -> dict[str, Any]:
    """Returns the columns of page and referrer, except the landing page, which is that of the session."""
    url, referrer = (
        strip_click_ids_from_url(address) if consent_denied and address else address
        for address in (page.url, page.referrer)
    )
    return {
        "page_url": url,
        "page_path": page.path,
        "page_title": page.title,
        "referrer": referrer,
        "referrer_host": page.external_referrer_host,  # None for the site itself; `referrer` is as sent
    }


def properties_and_aliased_id(parsed: ParsedEvent, *, consent_denied: bool) -> Mapping[str, Any]:
    """Returns the payload column: the properties as sent, plus the id that `$alias` merges.

    Without consent, identifiers are left out, and ``consent`` says so wherever the body said it.
    """
    data = parsed.properties
    if consent_denied:
        data = strip_click_and_browser_ids(data)
        if not is_consent_denied(data):
            data["consent"] = DENIED
    return {**data, "previous_id": parsed.ids.aliased_id} if parsed.ids.aliased_id else data


def _is_browser_id(namespace: str) -> bool:
    return is_cookie_or_address(namespace) or is_cookie_or_address(f"_{namespace}")


def _payment_id_and_charge_columns(
    arrival: ReceivedEvent, parsed: ParsedEvent, amount: int | None, currency: str | None
) -> dict[str, Any]:
    """Returns the payment id, and for a webhook its message id and the components of a charge.

    For other events with an amount the event id that the client sent stands in for a missing payment id.
    """
    properties = parsed.properties
    provider, payment = webhook_provider(arrival), first_non_empty_id(properties, PAYMENT_ID_PROPERTIES)
    if provider is None:
        client_event_id = id_as_sent(arrival) if arrival.claimed and amount is not None else None
        return {"payment_id": payment or client_event_id}
    columns = {
        "payment_id": payment,
        "message_id": id_as_sent(arrival).removeprefix(f"{provider}_"),
        "is_storefront": STOREFRONT_HEADER in arrival.headers,
    }
    if amount is None or amount < 0 or currency is None:
        return columns
    is_fee_report = parsed.name == PAYMENT_FEE_EVENT
    return columns | valid_charge_components_in_minor_units(
        properties, currency, allows_returned_fee=is_fee_report
    )


def id_as_sent(arrival: ReceivedEvent) -> str:
    """Returns the event id as its sender knows it; of an imported event that of its row."""
    return row_id_of_import(arrival.event_id) if IMPORT_HEADER in arrival.headers else arrival.event_id


def first_non_empty_id(properties: Mapping[str, Any], field_names: Sequence[str]) -> str | None:
    """Returns the first id of some properties, cut to the length of an id; None without one."""
    for name in field_names:
        if text := text_of_string_or_number(properties.get(name)):
            return text[:_MAX_ID_LENGTH]
    return None
