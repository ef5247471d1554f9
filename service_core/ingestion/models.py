"""Received events, event rows and ledger rows.

`Event` is the one declaration of the event row: stores derive their
columns from its fields, `/events` and the export derive theirs from `WIRE_COLUMNS`, in this order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple, get_args, get_type_hints
from uuid import UUID

from service_core.ingestion.visit_columns import hostname_of_url, screen_class_of_width


class IngestEndpoint(StrEnum):
    """The endpoint that received an event; the ledger counts each one separately."""

    TRACK = "track"
    BATCH = "batch"
    WEBHOOK = "webhook"


class RejectionReason(StrEnum):
    """Why an event was rejected."""

    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    NO_BODY = "no_body"
    INVALID_JSON = "invalid_json"
    NO_EVENT_NAME = "no_event_name"
    NO_IDENTITY = "no_identity"
    ENQUEUE_FAILED = "enqueue_failed"
    INVALID_SIGNATURE = "invalid_signature"
    OTHER_WORKSPACE = "other_workspace"
    UNSUPPORTED_ENCODING = "unsupported_encoding"


PROVIDER_HEADER: Final = "provider"
"""Stored header of an event from a webhook: id of the provider, which becomes the event's ``source``."""

STOREFRONT_HEADER: Final = "storefront"
"""Stored header of an event from a webhook of a storefront."""

UNPARSED_HEADER: Final = "unread"
"""Stored header of a webhook message that could not be mapped to an event: the reason. The body is the message."""

UNVERIFIED_HEADER: Final = "unverified"
"""Stored header of a webhook message whose signature could not be checked: its own headers, encrypted."""

UNREAD_FIELDS_HEADER: Final = "unread_fields"
"""Stored header of an event of an ingest protocol: names of the sent fields that the protocol does not read."""


IMPORT_PROPERTY: Final = "$import"
"""Property of an event that an import brought in: the id of the import. As a sent property it is dropped."""

IMPORT_HEADER: Final = "import"
"""Stored header of an imported event: the id of the import. No client can send it: hosts keep other headers only."""


class ReceivedEvent(NamedTuple):
    """A validated event as the queue stores it: the request body and request metadata.

    A named tuple, because it is created faster than a dataclass.

    Attributes:
        body: the JSON object as bytes, exactly as sent.
        event_id: the client's idempotency key, or a generated uuid (``claimed`` tells which).
        claimed: True when the client sent the id, so repeats within 7 days are duplicates.
        user_agent, address: header and connection of the request.
        headers: further request headers that enrichment reads (``accept-language``, purpose headers);
            for a webhook `PROVIDER_HEADER`, `STOREFRONT_HEADER` and `UNPARSED_HEADER`.
    """

    workspace_id: UUID
    key_id: UUID
    channel: IngestEndpoint
    event_id: str
    claimed: bool
    received_at: datetime
    body: bytes
    user_agent: str | None
    address: str | None
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KnownEventStore:
    """The event store that a deployment uses, as its workspace store remembers it.

    Attributes:
        location: its URL without secrets; empty once its loss was accepted.
        since: the first start with it.
        has_events: whether it had events at a start.
        definitions: digest of the definitions of metrics at the last start; empty before the first.
        answers_since: the first start with these definitions, or the restore of a backup after it; earlier answers cannot
            be given again.
    """

    location: str
    since: datetime
    has_events: bool
    definitions: str = ""
    answers_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class QueuedEvent:
    """A received event taken from the queue; ``seq`` is its unique ingest sequence number."""

    seq: int
    arrival: ReceivedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event row. Times are aware UTC, money is in minor units of ``currency``.

    The fields up to ``event_data`` appear in answers, in this order. The fields after it are used by queries and
    never shown. The annotation of a field is its description in the reference documentation.
    """

    event_id: Annotated[str, "Sent by the client, or generated; a repeat within 7 days is a duplicate."]
    event_name: Annotated[str, "Name as sent."]
    timestamp: Annotated[datetime, "When it happened: as sent, within reason, or else `received_at`."]
    received_at: Annotated[datetime, "When it was received."]
    time_adjusted: Annotated[
        str,
        "What was done to the time sent: `none`, `clamped` (it lay ahead) or `replaced` (unreadable, or before 2020).",
    ] = "none"
    visitor_id: Annotated[
        str, "The device: the first sent of `anonymous_id`, `visitor_id`, `distinct_id` and `user_id`."
    ]
    anonymous_id: Annotated[str | None, "As sent."] = None
    distinct_id: Annotated[str | None, "As sent."] = None
    user_id: Annotated[str | None, "As sent."] = None
    session_id: Annotated[str, "As sent, or generated for each visitor and UTC hour."]
    session_origin: Annotated[str, "Who made `session_id`: `client` or `generated`."] = "client"
    external_ids: Annotated[Mapping[str, str] | None, "Ids of other systems, by namespace."] = None
    source: Annotated[
        str, "Transport: `browser`, `mobile_app`, `api`, `web`, or the provider whose webhook it was."
    ] = "api"
    sdk_name: Annotated[str, "Library that sent it."] = "http"
    sdk_version: Annotated[str, "Version of that library."] = "0"
    attribution_source: Annotated[
        str | None, "Where the visit came from: the event's own origin, or that of its session."
    ] = None
    attribution_medium: Annotated[str | None, "Medium of that origin."] = None
    channel: Annotated[str | None, "Channel of that origin."] = None
    attribution_carried: Annotated[
        bool,
        "Whether the campaign values repeat the visitor's latest ones, and so are no visit of their own.",
    ] = False
    utm_source: Annotated[str | None, "As sent, or of the trackable link."] = None
    utm_medium: Annotated[str | None, "As sent, or of the trackable link."] = None
    utm_campaign: Annotated[str | None, "As sent, or of the trackable link."] = None
    utm_term: Annotated[str | None, "As sent, or of the trackable link."] = None
    utm_content: Annotated[str | None, "As sent, or of the trackable link."] = None
    utm_id: Annotated[str | None, "As sent."] = None
    click_id: Annotated[str | None, "Click id that counts, when several were sent."] = None
    click_id_type: Annotated[str | None, "Type of `click_id`, such as `gclid`."] = None
    gclid: Annotated[str | None, "Click id `gclid`."] = None
    gbraid: Annotated[str | None, "Click id `gbraid` of a click on iOS that leads to an app."] = None
    wbraid: Annotated[str | None, "Click id `wbraid` of a click on iOS that leads to the web."] = None
    fbclid: Annotated[str | None, "Click id `fbclid`."] = None
    ttclid: Annotated[str | None, "Click id `ttclid`."] = None
    oppref: Annotated[str | None, "Click id `oppref`."] = None
    msclkid: Annotated[str | None, "Click id `msclkid`."] = None
    fbp: Annotated[str | None, "Browser id of the cookie `_fbp`."] = None
    fbc: Annotated[str | None, "Click id as the cookie `_fbc` holds it."] = None
    ttp: Annotated[str | None, "Browser id of the cookie `_ttp`."] = None
    lyr: Annotated[str | None, "Tag of the trackable link."] = None
    page_url: Annotated[
        str | None, "Address of the page; values of its query that are named like secrets read `redacted`."
    ] = None
    page_path: Annotated[str | None, "Path of the page, without its query."] = None
    page_title: Annotated[str | None, "Title of the page."] = None
    referrer: Annotated[str | None, "Address that led to the page, as sent; secrets as in `page_url`."] = None
    referrer_host: Annotated[
        str | None, "Host of `referrer` in lower case without `www.`; null for the site's own."
    ] = None
    landing_page: Annotated[str | None, "Path of the first page of the session."] = None
    revenue: Annotated[int | None, "Amount in `currency`, negative for a refund."] = None
    currency: Annotated[str | None, "ISO 4217 code, as sent, or the workspace's."] = None
    order_id: Annotated[str | None, "Id of the order."] = None
    device_type: Annotated[str | None, "`desktop`, `mobile`, `tablet`, `tv` or `other`."] = None
    browser: Annotated[str | None, "Name of the browser."] = None
    browser_version: Annotated[str | None, "Version of the browser."] = None
    os: Annotated[str | None, "Name of the operating system."] = None
    os_version: Annotated[str | None, "Version of the operating system."] = None
    language: Annotated[str | None, "Language of the browser or application."] = None
    screen_width: Annotated[int | None, "Width of the screen in pixels."] = None
    screen_height: Annotated[int | None, "Height of the screen in pixels."] = None
    app_name: Annotated[str | None, "Name of the application."] = None
    app_version: Annotated[str | None, "Version of the application."] = None
    country: Annotated[str | None, "ISO 3166-1 alpha-2 code."] = None
    region: Annotated[str | None, "Name of the region."] = None
    city: Annotated[str | None, "Name of the city."] = None
    timezone: Annotated[str | None, "IANA name of the time zone."] = None
    is_bot: Annotated[bool, "Whether a bot did it; reports leave bots out unless asked."] = False
    bot_reasons: Annotated[
        tuple[str, ...],
        "Signs of a bot, sorted: `known_agent`, `headless`, `prefetch`, `referrer_spam`, `datacenter_ip`, `rate`.",
    ] = ()
    is_test: Annotated[bool, "Whether it is marked as a test."] = False
    event_data: Annotated[
        Mapping[str, Any], "`properties` as sent; secrets in addresses as in `page_url`."
    ] = field(default_factory=dict)

    workspace_id: Annotated[UUID, "Whose event it is."]
    seq: Annotated[int, "Ingest sequence, assigned once."]
    ip: Annotated[str | None, "Address it came from; cut after 7 days."] = None
    strong_id: Annotated[
        str | None,
        "Strong id sent with the event, after the id places of `$identify` and `$alias`. The event "
        "joins it to every weak id it carries. For `$alias` it is the new id, and `previous_id` in `event_data` is the "
        "strong id that is joined to it.",
    ] = None
    sent_visitor_id: Annotated[
        str | None, "The `visitor_id` sent beside an `anonymous_id`, which is the device then."
    ] = None
    reported_touches: Annotated[
        Mapping[str, str] | None,
        "First and last touch that the client reported: columns of the touch as text, each name behind `first_` or "
        "`last_`; two equal ones are kept as the first.",
    ] = None
    discount: Annotated[
        int | None,
        "Of a charge that a provider reported: the discount before `revenue`, in minor units; null when it is unknown.",
    ] = None
    tax: Annotated[int | None, "Likewise the tax on top of `revenue`."] = None
    shipping: Annotated[int | None, "Likewise what the customer paid for shipping, on top of `revenue`."] = (
        None
    )
    fee: Annotated[int | None, "Likewise what the payment or the platform cost, of `revenue`."] = None
    payment_id: Annotated[
        str | None,
        "What a provider of payments may know the order by: the `payment_id` sent, else of tracked money the event id "
        "its client chose.",
    ] = None
    message_id: Annotated[
        str | None,
        "Of a provider's report: its own id of the message, which an event of the same order may have.",
    ] = None
    is_storefront: Annotated[
        bool,
        "Whether a storefront reported it, whose report of an order precedes those of payment providers.",
    ] = False
    bot_reason: Annotated[
        str | None,
        "Of a bot: the first of `known_agent`, `headless`, `prefetch`, `referrer_spam` that applies.",
    ] = None
    crawler: Annotated[str | None, "Name of the crawler, by the lists of known user agents."] = None
    crawler_class: Annotated[
        str | None,
        "`ai_training`, `ai_search`, `ai_assistant`, `search_engine` or `other`; null unless a crawler.",
    ] = None
    touchable: Annotated[bool, "Whether it may make a touch."] = False
    from_device: Annotated[
        bool,
        "Whether a device of the visitor sent it, itself or through a server; no other event is part of a visit.",
    ] = True
    own_source: Annotated[
        str | None,
        "Source by everything the event itself carries: campaign values, click ids, link tag, external referrer; "
        "null when it carries none of them.",
    ] = None
    own_medium: Annotated[str | None, "Medium by the same."] = None
    own_channel: Annotated[str | None, "Channel by the same."] = None
    referral_source: Annotated[str | None, "Source by its external referrer alone; null without one."] = None
    referral_medium: Annotated[str | None, "Medium by the same."] = None
    referral_channel: Annotated[str | None, "Channel by the same."] = None
    campaign_in_url: Annotated[bool, "Whether `page_url` has the campaign values."] = False
    interactive: Annotated[bool, "False when it does not undo a bounce."] = True
    rules_version: Annotated[int, "Version of the rules it was enriched by."] = 1

    @property
    def campaign_values(self) -> tuple[str | None, ...]:
        """The values of `CAMPAIGN_COLUMNS`."""
        return _campaign_values(self)

    @property
    def hostname(self) -> str | None:
        """The host of the page, in lower case without ``www.``."""
        return hostname_of_url(self.page_url)

    @property
    def screen_class(self) -> str | None:
        """The class of the screen by its width."""
        return screen_class_of_width(self.screen_width)

    @property
    def weak_ids_joined_to_strong_id(self) -> tuple[str, ...]:
        """Returns the weak ids joined to the strong id, the device id first; empty without a strong id."""
        if self.strong_id is None:
            return ()
        sent = (self.visitor_id, self.sent_visitor_id, self.distinct_id)
        return tuple(dict.fromkeys(id_ for id_ in sent if id_ and id_ != self.strong_id))

    @property
    def lone_distinct_id(self) -> str | None:
        """Returns the distinct id of an event that carries no other id; None for any other event.

        It is the strong id of this name where the workspace has one.
        """
        is_alone = (
            self.strong_id is None and self.anonymous_id is None and self.visitor_id == self.distinct_id
        )
        return self.distinct_id if is_alone else None


class EnrichedEvent(NamedTuple):
    """The columns of an `Event` that its session and its ledger row are made of."""

    event_name: str
    timestamp: datetime
    time_adjusted: str
    source: str
    is_bot: bool
    from_device: bool
    touchable: bool
    landing_page: str | None
    attribution_source: str | None
    attribution_medium: str | None
    channel: str | None
    campaign_values: tuple[str | None, ...]
    revenue: int | None
    currency: str | None
    event_data: Mapping[str, Any]
    attribution_carried: bool


@dataclass(frozen=True, slots=True)
class SupersededEvent:
    """A stored event of a sender without a key that is kept and counts nowhere.

    Attributes:
        event: the event as it was stored.
        superseded_by: sequence number of the event with a key and the same event id that counts instead.
    """

    event: Event
    superseded_by: int


class EventColumn(NamedTuple):
    """Name, Python type and description of a column of the event row."""

    name: str
    type: Any
    description: str


COLUMNS: Final = tuple(
    EventColumn(name, *get_args(hint)) for name, hint in get_type_hints(Event, include_extras=True).items()
)
"""Every column of the event row, in order."""

COMPUTED_COLUMNS: Final = (
    EventColumn("hostname", str | None, "Host of `page_url` in lower case without `www.`."),
    EventColumn("screen_class", str | None, "Class of the screen by `screen_width`."),
)
"""The columns that are computed from others where they are read."""

WIRE_COLUMNS: Final = tuple(f.name for f in COLUMNS[: [f.name for f in COLUMNS].index("event_data") + 1])
"""The columns an answer shows, in the order of the contract."""

CAMPAIGN_COLUMNS: Final = (
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "utm_id",
    "click_id",
    "click_id_type",
    "lyr",
)
"""The campaign values of an event. If all equal the latest ones of the visitor, they count as carried."""

_campaign_values: Final = attrgetter(*CAMPAIGN_COLUMNS)

TOUCH_POSITIONS: Final = ("first", "last")
"""The touches that a client may report, in order."""

REPORTED_TOUCH_COLUMNS: Final = (
    *("own_source", "own_medium", "own_channel"),
    *CAMPAIGN_COLUMNS,
    *("referrer", "referrer_host", "landing_page"),
)
"""The columns of a reported touch, except its ``timestamp``."""

CLASSIFICATION_COLUMNS: Final = (
    *("attribution_source", "attribution_medium", "channel", "attribution_carried", "campaign_in_url"),
    *("own_source", "own_medium", "own_channel", "referral_source", "referral_medium", "referral_channel"),
)
"""The columns that classify where a visit came from."""

REENRICHED_COLUMNS: Final = (
    *CLASSIFICATION_COLUMNS,
    *("referrer_host", "reported_touches", "country", "region", "city", "timezone"),
    *("is_bot", "bot_reasons", "bot_reason", "touchable", "rules_version"),
)
"""The columns that are derived again after a change of the rules."""


@dataclass(frozen=True, slots=True)
class QuarantinedEvent:
    """An accepted event that cannot be stored, with the reason; it can be replayed."""

    queued: QueuedEvent
    reason: str


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Counts of events by API key, endpoint and UTC hour of receipt."""

    hour: datetime
    key_id: UUID
    channel: IngestEndpoint
    received: int
    stored: int
    duplicate: int
    quarantined: int
    in_flight: int
    late: int
    bots: int
    rejected_by_reason: Mapping[str, int]
    ignored_by_reason: Mapping[str, int] = field(default_factory=dict)

    @property
    def rejected(self) -> int:
        """Returns the number of rejected events over all reasons."""
        return sum(self.rejected_by_reason.values())

    @property
    def is_balanced(self) -> bool:
        """Returns whether every received event is accounted for."""
        return (
            self.received == self.stored + self.duplicate + self.rejected + self.quarantined + self.in_flight
        )
