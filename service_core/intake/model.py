"""An event on its way in, and the row it becomes.

`Event` is the one declaration of the event row (semantics 2.1, contract 3.5): stores derive their
columns from its fields, `/events` and the export derive theirs from `WIRE_COLUMNS`, in this order.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event row. Times are aware UTC, money is in minor units of ``currency``.

    The fields up to ``event_data`` are those of the wire, in its order; ``visitor_id`` is the device
    key of semantics 5.1. Those after it are kept for the questions and never shown:

    ``ip``
        cut after 7 days.
    ``strong_id``
        the strong id of semantics 5.2 sent with the event, after the id places of `$identify` and
        `$alias`. The event joins it to every weak id it carries (`weak_ids`). For `$alias` it is the
        new id, and ``event_data["previous_id"]`` is the strong id that is joined to it.
    ``sent_visitor_id``
        the ``visitor_id`` sent beside an ``anonymous_id``, which is the device key then.
    ``told``
        the first and the last touch as the client told them (`told.told_columns`): columns of the
        touch as text, each name behind ``first_`` or ``last_``; two equal ones are told as the first.
    ``touchable``
        whether the event may make a touch (semantics 8.1).
    ``own_source``, ``own_medium``, ``own_channel``
        the classification by everything the event itself carries: campaign values, click ids,
        link tag, external referrer. None when it carries none of them.
    ``referral_source``, ``referral_medium``, ``referral_channel``
        the classification by its external referrer alone, None without one.
    ``campaign_in_url``
        whether ``page_url`` contains the campaign values (semantics 8.2).
    ``interactive``
        False when the event does not undo a bounce (semantics 6.5).
    """

    event_id: str
    event_name: str
    timestamp: datetime
    received_at: datetime
    time_adjusted: str = "none"
    visitor_id: str
    anonymous_id: str | None = None
    distinct_id: str | None = None
    user_id: str | None = None
    session_id: str
    session_origin: str = "client"
    external_ids: Mapping[str, str] | None = None
    source: str = "api"
    sdk_name: str = "http"
    sdk_version: str = "0"
    attribution_source: str | None = None
    attribution_medium: str | None = None
    channel: str | None = None
    attribution_carried: bool = False
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None
    utm_id: str | None = None
    click_id: str | None = None
    click_id_type: str | None = None
    gclid: str | None = None
    gbraid: str | None = None
    wbraid: str | None = None
    fbclid: str | None = None
    ttclid: str | None = None
    oppref: str | None = None
    msclkid: str | None = None
    fbp: str | None = None
    fbc: str | None = None
    ttp: str | None = None
    lyr: str | None = None
    page_url: str | None = None
    page_path: str | None = None
    page_title: str | None = None
    referrer: str | None = None
    referrer_host: str | None = None
    landing_page: str | None = None
    revenue: int | None = None
    currency: str | None = None
    order_id: str | None = None
    device_type: str | None = None
    browser: str | None = None
    browser_version: str | None = None
    os: str | None = None
    os_version: str | None = None
    language: str | None = None
    screen_width: int | None = None
    screen_height: int | None = None
    app_name: str | None = None
    app_version: str | None = None
    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None
    is_bot: bool = False
    bot_reasons: tuple[str, ...] = ()
    is_test: bool = False
    event_data: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    workspace_id: UUID
    seq: int
    ip: str | None = None
    strong_id: str | None = None
    sent_visitor_id: str | None = None
    told: Mapping[str, str] | None = None
    touchable: bool = False
    own_source: str | None = None
    own_medium: str | None = None
    own_channel: str | None = None
    referral_source: str | None = None
    referral_medium: str | None = None
    referral_channel: str | None = None
    campaign_in_url: bool = False
    interactive: bool = True
    rules_version: int = 1

    @property
    def weak_ids(self) -> tuple[str, ...]:
        """The weak ids that the strong id is joined to, the device key first; none without a strong id."""
        if self.strong_id is None:
            return ()
        sent = (self.visitor_id, self.sent_visitor_id, self.distinct_id)
        return tuple(dict.fromkeys(one for one in sent if one and one != self.strong_id))


COLUMNS: Final = dataclasses.fields(Event)
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
