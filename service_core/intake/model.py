"""An event on its way in, and the row it becomes.

`Event` is the one declaration of the event row (semantics 2.1, contract 3.5): stores derive their
columns from its fields, `/events` and the export derive theirs from `WIRE_COLUMNS`, in this order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID


class Channel(StrEnum):
    """The door an event came through; the ledger counts each apart (contract 11.5)."""

    TRACK = "track"
    BATCH = "batch"
    WEBHOOK = "webhook"


class Reason(StrEnum):
    """Why an event was rejected (semantics 20.2)."""

    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    NO_BODY = "no_body"
    INVALID_JSON = "invalid_json"
    NO_EVENT_NAME = "no_event_name"
    NO_IDENTITY = "no_identity"
    ENQUEUE_FAILED = "enqueue_failed"


class Arrival(NamedTuple):
    """An accepted event as the queue keeps it: what was sent, and how it came.

    A tuple, because one is made for every request.

    Attributes:
        body: the JSON object as bytes, exactly as sent.
        event_id: the client's idempotency key, or a generated uuid (``claimed`` tells which).
        claimed: True when the client sent the id, so repeats within 7 days are duplicates.
        user_agent, address: header and connection of the request.
        headers: further request headers the enrichment reads (``accept-language``, purpose headers).
    """

    workspace_id: UUID
    key_id: UUID
    channel: Channel
    event_id: str
    claimed: bool
    received_at: datetime
    body: bytes
    user_agent: str | None
    address: str | None
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Queued:
    """An arrival taken from the queue; ``seq`` is its ingest sequence, assigned once."""

    seq: int
    arrival: Arrival


def _about(text: str) -> Mapping[str, str]:
    """What a column holds, for whoever reads rows: it stands in the descriptions of the API."""
    return {"about": text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event row. Times are aware UTC, money is in minor units of ``currency``.

    The fields up to ``event_data`` are those of the wire, in its order; those after it are kept for
    the questions and never shown.
    """

    event_id: str = field(
        metadata=_about("Sent by the client, or generated; a repeat within 7 days is a duplicate.")
    )
    event_name: str = field(metadata=_about("Name as sent."))
    timestamp: datetime = field(
        metadata=_about("When it happened: as sent, within reason, or else `received_at`.")
    )
    received_at: datetime = field(metadata=_about("When it was received."))
    time_adjusted: str = field(
        default="none",
        metadata=_about(
            "What was done to the time sent: `none`, `clamped` (it lay ahead) or `replaced` "
            "(unreadable, or before 2020)."
        ),
    )
    visitor_id: str = field(
        metadata=_about(
            "The device: the first sent of `anonymous_id`, `visitor_id`, `distinct_id` and `user_id`."
        )
    )
    anonymous_id: str | None = field(default=None, metadata=_about("As sent."))
    distinct_id: str | None = field(default=None, metadata=_about("As sent."))
    user_id: str | None = field(default=None, metadata=_about("As sent."))
    session_id: str = field(metadata=_about("As sent, or generated for each visitor and UTC hour."))
    session_origin: str = field(
        default="client", metadata=_about("Who made `session_id`: `client` or `generated`.")
    )
    external_ids: Mapping[str, str] | None = field(
        default=None, metadata=_about("Ids of other systems, by namespace.")
    )
    source: str = field(
        default="api",
        metadata=_about(
            "Transport: `browser`, `mobile_app`, `api`, `web`, or the provider whose webhook it was."
        ),
    )
    sdk_name: str = field(default="http", metadata=_about("Library that sent it."))
    sdk_version: str = field(default="0", metadata=_about("Version of that library."))
    attribution_source: str | None = field(
        default=None,
        metadata=_about("Where the visit came from: the event's own origin, or that of its session."),
    )
    attribution_medium: str | None = field(default=None, metadata=_about("Medium of that origin."))
    channel: str | None = field(default=None, metadata=_about("Channel of that origin."))
    attribution_carried: bool = field(
        default=False,
        metadata=_about(
            "Whether the campaign values repeat the session's earlier ones, and so are no visit of their own."
        ),
    )
    utm_source: str | None = field(default=None, metadata=_about("As sent, or of the trackable link."))
    utm_medium: str | None = field(default=None, metadata=_about("As sent, or of the trackable link."))
    utm_campaign: str | None = field(default=None, metadata=_about("As sent, or of the trackable link."))
    utm_term: str | None = field(default=None, metadata=_about("As sent, or of the trackable link."))
    utm_content: str | None = field(default=None, metadata=_about("As sent, or of the trackable link."))
    utm_id: str | None = field(default=None, metadata=_about("As sent."))
    click_id: str | None = field(
        default=None, metadata=_about("Click id that counts, when several were sent.")
    )
    click_id_type: str | None = field(default=None, metadata=_about("Type of `click_id`, such as `gclid`."))
    gclid: str | None = field(default=None, metadata=_about("Google click id."))
    gbraid: str | None = field(
        default=None, metadata=_about("Google click id of a click on iOS that leads to an app.")
    )
    wbraid: str | None = field(
        default=None, metadata=_about("Google click id of a click on iOS that leads to the web.")
    )
    fbclid: str | None = field(default=None, metadata=_about("Meta click id."))
    ttclid: str | None = field(default=None, metadata=_about("TikTok click id."))
    oppref: str | None = field(default=None, metadata=_about("OpenAI click id."))
    msclkid: str | None = field(default=None, metadata=_about("Microsoft click id."))
    fbp: str | None = field(default=None, metadata=_about("Meta browser id."))
    fbc: str | None = field(default=None, metadata=_about("Meta click id, as its cookie holds it."))
    ttp: str | None = field(default=None, metadata=_about("TikTok browser id."))
    lyr: str | None = field(default=None, metadata=_about("Tag of the trackable link."))
    page_url: str | None = field(
        default=None,
        metadata=_about(
            "Address of the page; values of its query that are named like secrets read `redacted`."
        ),
    )
    page_path: str | None = field(default=None, metadata=_about("Path of the page, without its query."))
    page_title: str | None = field(default=None, metadata=_about("Title of the page."))
    referrer: str | None = field(
        default=None, metadata=_about("Address that led to the page, as sent; secrets as in `page_url`.")
    )
    referrer_host: str | None = field(
        default=None,
        metadata=_about("Host of `referrer` in lower case without `www.`; null for the site's own."),
    )
    landing_page: str | None = field(default=None, metadata=_about("Path of the first page of the session."))
    revenue: int | None = field(default=None, metadata=_about("Amount in `currency`, negative for a refund."))
    currency: str | None = field(default=None, metadata=_about("ISO 4217 code, as sent, or the workspace's."))
    order_id: str | None = field(default=None, metadata=_about("Id of the order."))
    device_type: str | None = field(
        default=None, metadata=_about("`desktop`, `mobile`, `tablet`, `tv` or `other`.")
    )
    browser: str | None = field(default=None, metadata=_about("Name of the browser."))
    browser_version: str | None = field(default=None, metadata=_about("Version of the browser."))
    os: str | None = field(default=None, metadata=_about("Name of the operating system."))
    os_version: str | None = field(default=None, metadata=_about("Version of the operating system."))
    language: str | None = field(default=None, metadata=_about("Language of the browser or application."))
    screen_width: int | None = field(default=None, metadata=_about("Width of the screen in pixels."))
    screen_height: int | None = field(default=None, metadata=_about("Height of the screen in pixels."))
    app_name: str | None = field(default=None, metadata=_about("Name of the application."))
    app_version: str | None = field(default=None, metadata=_about("Version of the application."))
    country: str | None = field(default=None, metadata=_about("ISO 3166-1 alpha-2 code."))
    region: str | None = field(default=None, metadata=_about("Name of the region."))
    city: str | None = field(default=None, metadata=_about("Name of the city."))
    timezone: str | None = field(default=None, metadata=_about("IANA name of the time zone."))
    is_bot: bool = field(
        default=False, metadata=_about("Whether a bot did it; reports leave bots out unless asked.")
    )
    bot_reasons: tuple[str, ...] = field(
        default=(),
        metadata=_about(
            "Signs of a bot, sorted: `known_agent`, `headless`, `prefetch`, `referrer_spam`, "
            "`datacenter_ip`, `rate`."
        ),
    )
    is_test: bool = field(default=False, metadata=_about("Whether it is marked as a test."))
    event_data: Mapping[str, Any] = field(
        default_factory=dict, metadata=_about("`properties` as sent; secrets in addresses as in `page_url`.")
    )

    workspace_id: UUID = field(metadata=_about("Whose event it is."))
    seq: int = field(metadata=_about("Ingest sequence, assigned once."))
    ip: str | None = field(default=None, metadata=_about("Address it came from; cut after 7 days."))
    strong_id: str | None = field(
        default=None,
        metadata=_about(
            "Strong id sent with the event (semantics 5.2), after the id places of `$identify` "
            "and `$alias`. The event joins it to every weak id it carries. For `$alias` it is the"
            " new id, and `previous_id` in `event_data` is the strong id that is joined to it."
        ),
    )
    sent_visitor_id: str | None = field(
        default=None,
        metadata=_about("The `visitor_id` sent beside an `anonymous_id`, which is the device then."),
    )
    told: Mapping[str, str] | None = field(
        default=None,
        metadata=_about(
            "First and last touch as the client told them: columns of the touch as text, each "
            "name behind `first_` or `last_`; two equal ones are told as the first."
        ),
    )
    touchable: bool = field(default=False, metadata=_about("Whether it may make a touch (semantics 8.1)."))
    own_source: str | None = field(
        default=None,
        metadata=_about(
            "Source by everything the event itself carries: campaign values, click ids, link tag,"
            " external referrer; null when it carries none of them."
        ),
    )
    own_medium: str | None = field(default=None, metadata=_about("Medium by the same."))
    own_channel: str | None = field(default=None, metadata=_about("Channel by the same."))
    referral_source: str | None = field(
        default=None, metadata=_about("Source by its external referrer alone; null without one.")
    )
    referral_medium: str | None = field(default=None, metadata=_about("Medium by the same."))
    referral_channel: str | None = field(default=None, metadata=_about("Channel by the same."))
    campaign_in_url: bool = field(
        default=False, metadata=_about("Whether `page_url` contains the campaign values (semantics 8.2).")
    )
    interactive: bool = field(
        default=True, metadata=_about("False when it does not undo a bounce (semantics 6.5).")
    )
    rules_version: int = field(default=1, metadata=_about("Version of the rules it was enriched by."))

    @property
    def weak_ids(self) -> tuple[str, ...]:
        """The weak ids that the strong id is joined to, the device key first; none without a strong id."""
        if self.strong_id is None:
            return ()
        sent = (self.visitor_id, self.sent_visitor_id, self.distinct_id)
        return tuple(dict.fromkeys(one for one in sent if one and one != self.strong_id))


COLUMNS: Final = fields(Event)
"""Every column of the event row, in order, with its Python type."""

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
"""The values that make an event a campaign visit; all equal to the latest ones = carried (semantics 8.2)."""

SIDES: Final = ("first", "last")
"""The touches that a client may tell of, in order (semantics 8.7)."""

TOLD_COLUMNS: Final = (
    *("own_source", "own_medium", "own_channel"),
    *CAMPAIGN_COLUMNS,
    *("referrer", "referrer_host", "landing_page"),
)
"""What is known of a touch that was told, beside its ``timestamp``."""

PAGE_VIEWS: Final = frozenset({"pageview", "page_view", "$pageview"})
"""One event everywhere; rows keep the name sent (semantics 2.2)."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An accepted event that cannot be stored: kept raw, with the reason, replayable (semantics 20.2)."""

    queued: Queued
    reason: str


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What happened to the events of one key, channel and UTC hour of receipt (semantics 20.1)."""

    hour: datetime
    key_id: UUID
    channel: Channel
    received: int
    stored: int
    duplicate: int
    quarantined: int
    in_flight: int
    late: int
    bots: int
    rejected_by_reason: Mapping[str, int]

    @property
    def rejected(self) -> int:
        """Rejected events, all reasons together."""
        return sum(self.rejected_by_reason.values())

    @property
    def balanced(self) -> bool:
        """Whether every received event is accounted for."""
        return (
            self.received == self.stored + self.duplicate + self.rejected + self.quarantined + self.in_flight
        )
