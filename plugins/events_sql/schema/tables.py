"""The tables of the store, derived from the fields of `Event`.

``events`` holds the facts; all other tables are derived from it, in the same transaction, and can be rebuilt.
``id_numbers`` numbers every visitor (``v:<visitor id>``) and strong id (``u:<strong id>``) of a workspace, because
exact distinct counts of numbers are three to five times cheaper than of texts. ``sessions`` has one row per
session, bot flag and whether a device sent the events (``from_device``: a visit), with its first event, first
page view and the one of them that is its entry event, and the path of its last page view, ``touch_candidates`` the events that may be touches, ``reported_touches`` the touches that clients
reported, ``weak_links`` the links of secondary weak ids and of distinct ids sent alone, ``visitor_id_pairs`` the strong ids seen with each visitor,
``email_digests`` who owns and who seeks which e-mail, ``visitor_owners`` who owns a visitor's events from when on,
``person_merges`` the ids that are merged into another person. ``superseded_events`` keeps the events of senders without a
key that count nowhere; no read of numbers uses it. ``recorded_at`` is when an event became visible; ``event_versions`` keeps what an
event was before its columns changed or an import was removed, ``event_deletions`` when events were deleted. ``store_version`` holds `VERSION`.
"""

from collections.abc import Mapping
from datetime import datetime
from types import UnionType
from typing import Any, Final, get_args, get_origin
from uuid import UUID

import sqlalchemy as sa

from service_core.plugin import CAMPAIGN_COLUMNS, COLUMNS, COMPUTED_COLUMNS, REPORTED_TOUCH_COLUMNS


class Json(sa.Text):
    """JSON text, or the JSON type of an engine."""


class IdNumber(sa.BigInteger):
    """The number of a visitor, strong id or session: from a sequence, or a wide digest."""


_SQL_TYPES: Final[Mapping[Any, type[sa.types.TypeEngine[Any]]]] = {
    str: sa.Text,
    int: sa.BigInteger,
    bool: sa.Boolean,
    datetime: sa.DateTime,
    UUID: sa.Uuid,
}
JSON_COLUMNS: Final = tuple(
    f.name for f in COLUMNS if get_origin(f.type) is tuple or "Mapping" in str(f.type)
)
"""Columns stored as JSON text, exactly as sent: a typed column would turn 1.10 into 1.1."""


def without_none(declared: Any) -> Any:
    """Returns the Python type of a field without ``None``."""
    if isinstance(declared, UnionType):
        return next(kind for kind in get_args(declared) if kind is not type(None))
    return declared


def sql_type(declared: Any) -> sa.types.TypeEngine[Any]:
    """Returns the SQL type of a field; JSON for anything that is not a scalar."""
    return _SQL_TYPES.get(without_none(declared), Json)()


_EVENT_FIELD_TYPES: Final = {f.name: f.type for f in (*COLUMNS, *COMPUTED_COLUMNS)}
METADATA: Final = sa.MetaData()
POSITION_TYPE: Final = sa.Numeric(38, 0)
"""The position of an event in the order of all events: its microsecond, then its sequence number."""
MIN_INSTANT: Final = datetime(1, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it
MAX_INSTANT: Final = datetime(9999, 12, 31)  # noqa: DTZ001 - likewise
"""`MIN_INSTANT` and `MAX_INSTANT` bound the ownership of a visitor that has only one owner."""

ENTRY_PREFIX: Final = "entry_"
ENTRY_COLUMNS: Final = (
    *("event_name", "source", "page_path", "landing_page", "referrer_host", "lyr", "click_id_type"),
    *("attribution_source", "attribution_medium", "channel"),
    *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    *("device_type", "browser", "os", "language", "app_version", "country", "region", "city"),
    *(f.name for f in COMPUTED_COLUMNS),
)
"""Columns of a session's entry event that its row copies for dimensions; others are read from that event."""

EVENTS: Final = sa.Table(
    "events",
    METADATA,
    *(sa.Column(f.name, sql_type(f.type)) for f in COLUMNS),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
    sa.Column("session_no", IdNumber),
    sa.Column("recorded_at", sa.DateTime),
)

ID_NUMBERS: Final = sa.Table(
    "id_numbers",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("id", sa.Text),
    sa.Column("number", IdNumber),
)

SESSIONS: Final = sa.Table(
    "sessions",
    METADATA,
    sa.Column("session_no", IdNumber),
    sa.Column("is_bot", sa.Boolean),
    sa.Column("from_device", sa.Boolean),
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("visitor_id", sa.Text),
    sa.Column("session_id", sa.Text),
    sa.Column("first_at", sa.DateTime),
    sa.Column("first_seq", sa.BigInteger),
    sa.Column("began_with_system_event", sa.Boolean),
    sa.Column("view_at", sa.DateTime),
    sa.Column("view_seq", sa.BigInteger),
    sa.Column("entry_at", sa.DateTime),
    sa.Column("entry_seq", sa.BigInteger),
    sa.Column("last_at", sa.DateTime),
    sa.Column("events", sa.BigInteger),
    sa.Column("pageviews", sa.BigInteger),
    sa.Column("others", sa.BigInteger),
    sa.Column("has_cart", sa.Boolean),
    sa.Column("has_purchase", sa.Boolean),
    sa.Column("has_revenue", sa.Boolean),
    sa.Column("names", sa.ARRAY(sa.Text)),
    sa.Column("touch", sa.ARRAY(sa.Text)),
    sa.Column("touch_at", POSITION_TYPE),
    sa.Column("campaign", sa.ARRAY(sa.Text)),
    sa.Column("campaign_at", POSITION_TYPE),
    sa.Column("exit_page", sa.Text),
    sa.Column("exit_at", POSITION_TYPE),
    *(sa.Column(ENTRY_PREFIX + name, sql_type(_EVENT_FIELD_TYPES[name])) for name in ENTRY_COLUMNS),
)

TOUCH_COLUMNS: Final = (
    *("own_source", "own_medium", "own_channel", "referral_source", "referral_medium", "referral_channel"),
    *CAMPAIGN_COLUMNS,
    *("campaign_in_url", "referrer", "referrer_host", "landing_page", "country"),
)
"""The columns a touch is computed from."""

TOUCH_CANDIDATES: Final = sa.Table(
    "touch_candidates",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
    sa.Column("session_no", IdNumber),
    sa.Column("timestamp", sa.DateTime),
    sa.Column("seq", sa.BigInteger),
    *(sa.Column(name, sql_type(_EVENT_FIELD_TYPES[name])) for name in TOUCH_COLUMNS),
)

REPORTED_TOUCHES: Final = sa.Table(
    "reported_touches",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
    sa.Column("timestamp", sa.DateTime),
    sa.Column("seq", sa.BigInteger),
    sa.Column("side", sa.BigInteger),
    sa.Column("touched_at", sa.DateTime),
    *(sa.Column(name, sql_type(_EVENT_FIELD_TYPES[name])) for name in (*REPORTED_TOUCH_COLUMNS, "country")),
)
"""Touches reported by clients: ``timestamp`` and ``seq`` of the reporting event, ``touched_at`` of the touch."""

WEAK_LINKS: Final = sa.Table(
    "weak_links",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("event_id", sa.Text),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
    sa.Column("timestamp", sa.DateTime),
    sa.Column("seq", sa.BigInteger),
)

VISITOR_ID_PAIRS: Final = sa.Table(
    "visitor_id_pairs",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
)
"""All pairs that ever occurred, also those of bots, of revoked links and of unrelated visitors with the same id."""

EMAIL_DIGESTS: Final = sa.Table(
    "email_digests",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("digest", sa.Text),
    sa.Column("number", IdNumber),
    sa.Column("source", sa.Text),
)
"""Digests of e-mails: of their owner, by strong id or visitor, or of the visitor of a ``source`` that seeks a person."""

VISITOR_OWNERS: Final = sa.Table(
    "visitor_owners",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
    sa.Column("since", sa.DateTime),
    sa.Column("since_seq", sa.BigInteger),
    sa.Column("until", sa.DateTime),
    sa.Column("until_seq", sa.BigInteger),
)

PERSON_MERGES: Final = sa.Table(
    "person_merges",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("number", IdNumber),
    sa.Column("person_no", IdNumber),
)

REVOKED_LINKS: Final = sa.Table(
    "revoked_links",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("event_id", sa.Text),
    sa.Column("recorded_at", sa.DateTime),
)

SUPERSEDED_EVENTS: Final = sa.Table(
    "superseded_events",
    METADATA,
    *(sa.Column(f.name, sql_type(f.type)) for f in COLUMNS),
    sa.Column("superseded_by", sa.BigInteger),
    sa.Column("recorded_at", sa.DateTime),
)
"""Events of senders without a key whose id came from a sender with one; ``superseded_by`` is the number of that event."""

EVENT_VERSIONS: Final = sa.Table(
    "event_versions",
    METADATA,
    *(sa.Column(f.name, sql_type(f.type)) for f in COLUMNS),
    sa.Column("recorded_at", sa.DateTime),
    sa.Column("recorded_until", sa.DateTime),
)
"""Events as they were until their enriched columns were replaced or their import was removed, at ``recorded_until``."""

EVENT_DELETIONS: Final = sa.Table(
    "event_deletions",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("deleted_at", sa.DateTime),
)
"""When events of a workspace were deleted without a version being kept: erasures and the end of retention."""

RECORDING_STARTS: Final = sa.Table("recording_starts", METADATA, sa.Column("started_at", sa.DateTime))
"""When the store was created; nothing is known of what was true before."""

STORE_VERSION: Final = sa.Table("store_version", METADATA, sa.Column("version", sa.BigInteger))

VERSION: Final = 8
"""The version of these tables and of the rows derived from events. Increase it with every change of them."""

BATCH: Final = sa.Table(
    "batch",
    sa.MetaData(),
    sa.Column("row_no", sa.BigInteger),
    *(sa.Column(f.name, sql_type(f.type)) for f in COLUMNS),
    sa.Column("previous_id", sa.Text),
    sa.Column("web_visitor_id", sa.Text),
    sa.Column("carries", sa.Boolean),
)
"""The events of an append: row number, event columns and the identity ids of `read_alias_and_email_match_unless_bot`."""
