"""Enriches the events of a batch as columns.

`Enricher.build_event_row` says what the columns of one event are. This module gives the same columns for many: a page, a
client, an address or an amount that several events of a batch share is looked up once, by the fields it depends on.
"""

from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from service_core.access.models import Workspace
from service_core.ingestion.amounts import AMOUNT_FIELDS, parse_first_amount_in_minor_units
from service_core.ingestion.campaign import URL_CAMPAIGN_PARAMETERS, parse_campaign_and_install_referrer
from service_core.ingestion.channel_rules import RULES_VERSION
from service_core.ingestion.device_columns import SDK_FIELDS
from service_core.ingestion.enrichment import (
    ORDER_ID_PROPERTIES,
    PAYMENT_ID_PROPERTIES,
    Enricher,
    external_ids_within_consent,
    first_non_empty_id,
    id_as_sent,
    page_columns,
    properties_and_aliased_id,
    sdk_columns,
)
from service_core.ingestion.event_columns import EVENT_COLUMN_NAMES, ColumnGroup, EventColumns
from service_core.ingestion.event_names import is_system_event
from service_core.ingestion.event_source import (
    API,
    DEVICE_SIGN_COLUMNS,
    DEVICE_SOURCES,
    TOUCH_EVENTS,
    reported_or_connection_ip,
    signs_show_device_behind_server_event,
)
from service_core.ingestion.imported_rows import IMPORTED_COLUMNS_HEADER
from service_core.ingestion.models import EnrichedEvent, Event, IngestEndpoint, QueuedEvent, ReceivedEvent
from service_core.ingestion.page_context import parse_page_context
from service_core.ingestion.parse_event import ParsedEvent
from service_core.ingestion.ports import SessionState
from service_core.ingestion.reported_touches import reported_touch_columns
from service_core.ingestion.traffic_source_columns import (
    EventOrigin,
    campaign_columns_within_consent,
    classify_event_origin,
    repeats_last_campaign_of_visitor,
    traffic_source_of_event,
)

_V = TypeVar("_V")

UtmByWorkspace = Mapping[UUID, Mapping[str, Mapping[str, str]]]
"""Workspace and link tag -> the UTM values of the link."""

_ORIGIN_FIELDS: Final = URL_CAMPAIGN_PARAMETERS | {
    *("url", "path", "title", "referrer", "install_referrer_url", "clickId", "clickIdType"),
}
_CLIENT_FIELDS: Final = SDK_FIELDS | {"userAgent", "user_agent", "app", "app_name", "bot"}
_AMOUNT_FIELDS: Final = frozenset({*AMOUNT_FIELDS, "currency"})
_BROWSER_ID_COLUMNS: Final = ("fbp", "fbc", "ttp")

_ORIGIN_COLUMNS: Final = (
    *("page_url", "page_path", "page_title", "referrer", "referrer_host", "campaign_in_url"),
    *("own_source", "own_medium", "own_channel", "referral_source", "referral_medium", "referral_channel"),
    *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id", "lyr"),
    *("click_id", "click_id_type", "gclid", "gbraid", "wbraid", "fbclid", "ttclid", "oppref", "msclkid"),
)
_CLIENT_COLUMNS: Final = (
    *("source", "sdk_name", "sdk_version", "device_type", "browser", "browser_version", "os", "os_version"),
    *("language", "screen_width", "screen_height", "app_name", "app_version"),
    *("is_bot", "bot_reasons", "bot_reason", "crawler", "crawler_class"),
)
_PLACE_COLUMNS: Final = ("ip", "country", "region", "city", "timezone")
_OWN_COLUMNS: Final = (
    *("workspace_id", "seq", "event_id", "received_at", "event_name", "timestamp", "time_adjusted"),
    *("visitor_id", "anonymous_id", "distinct_id", "user_id", "strong_id", "sent_visitor_id"),
    *("session_id", "session_origin", "external_ids"),
    *("attribution_source", "attribution_medium", "channel", "attribution_carried", "landing_page"),
    *("revenue", "currency", "order_id", "payment_id", "is_test", "event_data", "reported_touches"),
    *("touchable", "interactive", "from_device", *_BROWSER_ID_COLUMNS),
)
"""Columns of which each event has values of its own."""
_OTHER_COLUMNS: Final = tuple(
    name
    for name in EVENT_COLUMN_NAMES
    if name not in {*_ORIGIN_COLUMNS, *_CLIENT_COLUMNS, *_PLACE_COLUMNS, *_OWN_COLUMNS}
)
"""Columns in which only events of providers have values of their own."""
_OTHER_VALUES: Final[Mapping[str, Any]] = MappingProxyType({"rules_version": RULES_VERSION})
_own_columns_of_event: Final = attrgetter(*_OWN_COLUMNS)
_NO_BROWSER_IDS: Final = (None,) * len(_BROWSER_ID_COLUMNS)
_NO_LINKS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})
_DEFAULTS: Final = {name: field.default for name, field in Event.__dataclass_fields__.items()}


class _Origin(NamedTuple):
    """What events with the same page, referrer and campaign share."""

    classified: EventOrigin
    path: str | None
    is_empty: bool
    is_spam_referrer: bool
    has_device_sign: bool


class _Client(NamedTuple):
    """What events with the same client share."""

    source: str
    is_bot: bool
    has_device_sign: bool


class _SharedRows(Generic[_V]):
    """The distinct rows of some columns in a batch.

    Attributes:
        values: what is known about each row beside its columns; None for the row of `append_event`.
        positions: of each event so far, the position of its row.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names: Final = names
        self.values: Final[list[Any]] = []
        self.positions: Final[list[int]] = []
        self._rows: Final[list[tuple[Any, ...]]] = []
        self._position_by_key: Final[dict[object, int]] = {}
        self._columns_of_event: Final = attrgetter(*names)

    def find(self, key: object) -> int | None:
        """Returns the position of the row of a key; None if no event had it yet."""
        return self._position_by_key.get(key)

    def add(self, key: object, columns: Mapping[str, Any], value: _V) -> int:
        """Adds the row of a key and returns its position; absent columns have the defaults of `Event`."""
        position = self._append(tuple([columns.get(name, _DEFAULTS[name]) for name in self.names]), value)
        self._position_by_key[key] = position
        return position

    def append_event(self, event: Event) -> None:
        """Adds an event that was enriched as a row; it shares it with no other."""
        self.positions.append(self._append(self._columns_of_event(event), None))

    def group(self) -> ColumnGroup:
        """Returns the columns."""
        return ColumnGroup(self.names, self._rows, self.positions)

    def _append(self, row: tuple[Any, ...], value: _V | None) -> int:
        self._rows.append(row)
        self.values.append(value)
        return len(self._rows) - 1


class BatchEnricher:
    """Enriches the events of one batch, in order.

    Args:
        enricher: looks up what events share; its `build_event_row` makes rows of providers and imports.
        utm_by_workspace: UTM values of link tags, for events with a tag and no UTM value.
    """

    def __init__(self, enricher: Enricher, utm_by_workspace: UtmByWorkspace) -> None:
        self._enricher = enricher
        self._utm_by_workspace = utm_by_workspace
        self._own_rows: list[tuple[Any, ...]] = []
        self._origins = _SharedRows[_Origin](_ORIGIN_COLUMNS)
        self._clients = _SharedRows[_Client](_CLIENT_COLUMNS)
        self._places = _SharedRows[None](_PLACE_COLUMNS)
        self._others = _SharedRows[None](_OTHER_COLUMNS)
        self._position_of_defaults: Final = self._others.add(None, _OTHER_VALUES, None)
        self._amounts: dict[object, tuple[int | None, str | None]] = {}

    def columns(self) -> EventColumns:
        """Returns the events that were added."""
        shared = (self._origins, self._clients, self._places, self._others)
        own = ColumnGroup(_OWN_COLUMNS, self._own_rows)
        return EventColumns(len(self._own_rows), [own, *(rows.group() for rows in shared)])

    def add_event(
        self,
        queued: QueuedEvent,
        parsed: ParsedEvent,
        workspace: Workspace,
        session: SessionState | None,
        *,
        high_rate: bool,
    ) -> EnrichedEvent | Event:
        """Adds an event and returns it; adds nothing if it raises. The arguments are those of `build_event_row`."""
        arrival = queued.arrival
        if arrival.channel is IngestEndpoint.WEBHOOK or IMPORTED_COLUMNS_HEADER in arrival.headers:
            return self._add_row(
                self._enricher.build_event_row(
                    queued,
                    parsed,
                    workspace=workspace,
                    session=session,
                    high_rate=high_rate,
                    utm_by_tag=self._utm_by_workspace.get(workspace.id, _NO_LINKS),
                )
            )
        origin_position = self._origin_position(parsed, workspace)
        origin = self._origins.values[origin_position]
        client_position = self._client_position(
            parsed, arrival, spam_referrer=origin.is_spam_referrer, high_rate=high_rate
        )
        client = self._clients.values[client_position]
        place_position = self._place_position(parsed, arrival, client.source)
        enriched = self._build_enriched_event(parsed, workspace, session, origin, client)
        self._own_rows.append(self._own_row(queued, parsed, workspace, enriched))
        self._origins.positions.append(origin_position)
        self._clients.positions.append(client_position)
        self._places.positions.append(place_position)
        self._others.positions.append(self._position_of_defaults)
        return enriched

    def _add_row(self, event: Event) -> Event:
        """Adds an event that was enriched as a row."""
        self._own_rows.append(_own_columns_of_event(event))
        for rows in (self._origins, self._clients, self._places, self._others):
            rows.append_event(event)
        return event

    def _origin_position(self, parsed: ParsedEvent, workspace: Workspace) -> int:
        """Returns the position of the columns of page, referrer and campaign."""
        key = workspace.id.int, parsed.consent_denied, _sent_values(parsed.properties, _ORIGIN_FIELDS)
        known = self._origins.find(key)
        return self._origins.add(key, *self._look_up_origin(parsed, workspace)) if known is None else known

    def _look_up_origin(self, parsed: ParsedEvent, workspace: Workspace) -> tuple[dict[str, Any], _Origin]:
        classifier, denied = self._enricher.classifier, parsed.consent_denied
        page = parse_page_context(parsed.properties, workspace, classifier)
        campaign = parse_campaign_and_install_referrer(parsed.properties)
        campaign.fill_utm_from_link_if_none_sent(self._utm_by_workspace.get(workspace.id, _NO_LINKS))
        origin = classify_event_origin(
            campaign, page, classifier, workspace.rules.channels, consent_denied=denied
        )
        columns = {
            **origin.columns(),
            **campaign_columns_within_consent(campaign, {}, consent_denied=denied),
            **page_columns(page, consent_denied=denied),
        }
        return columns, _Origin(
            origin, page.path, campaign.is_empty, page.is_spam_referrer, _has_device_sign(columns)
        )

    def _client_position(
        self, parsed: ParsedEvent, arrival: ReceivedEvent, *, spam_referrer: bool, high_rate: bool
    ) -> int:
        """Returns the position of the columns of SDK, device and bot."""
        key = (
            arrival.channel,
            arrival.user_agent,
            tuple(arrival.headers.items()),
            tuple(map(_key_of_sent, parsed.sdk)),
            _sent_values(parsed.context, _CLIENT_FIELDS),
            _sent_values(parsed.properties, _CLIENT_FIELDS),
            spam_referrer,
            high_rate,
        )
        known = self._clients.find(key)
        if known is not None:
            return known
        return self._clients.add(
            key, *self._look_up_client(parsed, arrival, spam_referrer=spam_referrer, high_rate=high_rate)
        )

    def _look_up_client(
        self, parsed: ParsedEvent, arrival: ReceivedEvent, *, spam_referrer: bool, high_rate: bool
    ) -> tuple[dict[str, Any], _Client]:
        source = self._enricher.event_source(parsed, arrival)
        bot = self._enricher.bot_columns_unless_webhook(
            parsed, arrival, source, spam_referrer=spam_referrer, high_rate=high_rate
        )
        device = self._enricher.device_columns_unless_webhook(parsed, arrival, source)
        columns = {"source": source, **sdk_columns(parsed), **device, **bot}
        return columns, _Client(source, columns["is_bot"], _has_device_sign(columns))

    def _place_position(self, parsed: ParsedEvent, arrival: ReceivedEvent, source: str) -> int:
        """Returns the position of the columns of address and location."""
        key = _key_of_sent(parsed.ip), arrival.address, source, parsed.consent_denied
        known = self._places.find(key)
        return (
            self._places.add(key, self._look_up_place(parsed, arrival, source), None)
            if known is None
            else known
        )

    def _look_up_place(self, parsed: ParsedEvent, arrival: ReceivedEvent, source: str) -> dict[str, Any]:
        ip = reported_or_connection_ip(parsed.ip, arrival.address, source)
        location = self._enricher.location_columns_of_end_user(ip, source)
        return {"ip": None if parsed.consent_denied else ip, **location}

    def _minor_amount_and_currency(
        self, properties: Mapping[str, Any], default_currency: str
    ) -> tuple[int | None, str | None]:
        """Returns the amount in minor units and its currency."""
        if _AMOUNT_FIELDS.isdisjoint(properties):
            return None, None
        key = default_currency, _sent_values(properties, _AMOUNT_FIELDS)
        amount = self._amounts.get(key)
        if amount is None:
            amount = self._amounts[key] = parse_first_amount_in_minor_units(properties, default_currency)
        return amount

    def _build_enriched_event(
        self,
        parsed: ParsedEvent,
        workspace: Workspace,
        session: SessionState | None,
        origin: _Origin,
        client: _Client,
    ) -> EnrichedEvent:
        carried = repeats_last_campaign_of_visitor(origin.classified, session)
        source = traffic_source_of_event(origin.classified, session, carried=carried)
        amount, currency = self._minor_amount_and_currency(parsed.properties, workspace.currency)
        ids = parsed.ids
        from_device = client.source in DEVICE_SOURCES or (
            client.source == API
            and (
                client.has_device_sign
                or origin.has_device_sign
                or signs_show_device_behind_server_event(
                    parsed.name,
                    parsed.session_origin,
                    names_device=ids.anonymous_id is not None
                    or ids.visitor_id not in {ids.distinct_id, ids.user_id},
                )
            )
        )
        return EnrichedEvent(  # positional: keywords take twice as long
            parsed.name,
            parsed.timestamp,
            parsed.time_adjusted,
            client.source,
            client.is_bot,
            from_device,
            not client.is_bot and (parsed.name in TOUCH_EVENTS or not origin.is_empty),
            (session.landing_page if session else None) or origin.path,
            source.source,
            source.medium,
            source.channel,
            origin.classified.campaign_values,
            amount,
            currency,
            properties_and_aliased_id(parsed, consent_denied=parsed.consent_denied),
            carried,
        )

    def _own_row(
        self, queued: QueuedEvent, parsed: ParsedEvent, workspace: Workspace, enriched: EnrichedEvent
    ) -> tuple[Any, ...]:
        """Returns the values of `_OWN_COLUMNS`."""
        arrival, properties, ids = queued.arrival, parsed.properties, parsed.ids
        payment_id = first_non_empty_id(properties, PAYMENT_ID_PROPERTIES)
        if payment_id is None and arrival.claimed and enriched.revenue is not None:
            payment_id = id_as_sent(arrival)
        denied = parsed.consent_denied
        touches = reported_touch_columns(
            properties,
            parsed.timestamp,
            workspace,
            self._enricher.classifier,
            self._utm_by_workspace.get(workspace.id, _NO_LINKS),
            consent_denied=denied,
        )
        browser_ids = {} if denied else parsed.browser_ids
        return (
            arrival.workspace_id,
            queued.seq,
            arrival.event_id,
            arrival.received_at,
            parsed.name,
            parsed.timestamp,
            parsed.time_adjusted,
            ids.visitor_id,
            ids.anonymous_id,
            ids.distinct_id,
            ids.user_id,
            ids.strong_id,
            ids.sent_visitor_id,
            parsed.session_id,
            parsed.session_origin,
            external_ids_within_consent(parsed),
            enriched.attribution_source,
            enriched.attribution_medium,
            enriched.channel,
            enriched.attribution_carried,
            enriched.landing_page,
            enriched.revenue,
            enriched.currency,
            first_non_empty_id(properties, ORDER_ID_PROPERTIES),
            payment_id,
            properties.get("test") is True,
            enriched.event_data,
            touches,
            enriched.touchable,
            properties.get("interactive") is not False and not is_system_event(parsed.name),
            enriched.from_device,
            *(map(browser_ids.get, _BROWSER_ID_COLUMNS) if browser_ids else _NO_BROWSER_IDS),
        )


def _has_device_sign(columns: Mapping[str, Any]) -> bool:
    return any(columns.get(name) is not None for name in DEVICE_SIGN_COLUMNS)


def _sent_values(fields: Mapping[str, Any], names: frozenset[str]) -> tuple[object, ...]:
    """Returns the values of some fields as they were sent, with their names: equal ones are enriched alike.

    The order is kept: of two spellings of one name the first counts.
    """
    return tuple(
        [(name, _key_of_sent(value)) for name, value in fields.items() if name in names]
        if not names.isdisjoint(fields)
        else ()
    )


def _key_of_sent(value: object) -> object:
    """Returns a sent value as part of a key. 1, 1.0 and true are equal in Python, and different as sent."""
    return value if type(value) is str or value is None else (repr(value),)
