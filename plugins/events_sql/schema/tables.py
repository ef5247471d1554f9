"""The tables, derived from the one declaration of the event row.

``events`` holds the facts. Everything else is a cache of it, kept in the same transaction and
rebuilt from it at any time: ``ids`` gives every visitor (``v:<visitor id>``) and strong id
(``u:<strong id>``) of a workspace a number, ``sessions`` has one row per session and verdict (bots
apart), ``candidates`` the events that may make a touch, ``weak_links`` the links of weak ids beside the
visitor's own, ``kin`` which strong ids ever stood beside a visitor, ``told_touches`` the touches that clients
told, ``mails`` who says and who seeks which e-mail, ``owners`` says who a visitor's events belong to from when on, ``persons`` which ids are part of
another person. Numbers instead of texts make exact distinct counts three to five times cheaper.
``computed`` says by which version of this code the caches are (`COMPUTED_BY`).
"""

from collections.abc import Mapping
from datetime import datetime
from types import UnionType
from typing import Any, Final, get_args, get_origin
from uuid import UUID

import sqlalchemy as sa

from service_core.plugin import CAMPAIGN_COLUMNS, COLUMNS, REPORTED_TOUCH_COLUMNS


class Json(sa.Text):
    """JSON text, or what an engine has for it."""


class IdNumber(sa.BigInteger):
    """The number of a visitor, a strong id or a session: small ones that are handed out, or wide digests."""


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
"""Columns kept as JSON text, exactly as sent: a typed VARIANT would turn 1.10 into 1.1."""


def without_none(declared: Any) -> Any:
    """The Python type of a field without its ``None``."""
    if isinstance(declared, UnionType):
        return next(kind for kind in get_args(declared) if kind is not type(None))
    return declared


def sql_type(declared: Any) -> sa.types.TypeEngine[Any]:
    """The SQL type of a field: JSON for anything that is not a scalar."""
    return _SQL_TYPES.get(without_none(declared), Json)()


_EVENT_FIELD_TYPES: Final = {f.name: f.type for f in COLUMNS}
METADATA: Final = sa.MetaData()
POSITION_TYPE: Final = sa.Numeric(38, 0)
"""Place of an event in the order of all events: its microsecond, then its sequence."""
MIN_INSTANT: Final = datetime(1, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it
MAX_INSTANT: Final = datetime(9999, 12, 31)  # noqa: DTZ001 - likewise
"""Since and until of an owner that has a visitor for good."""

ENTRY_PREFIX: Final = "entry_"
ENTRY_COLUMNS: Final = (
    *("event_name", "source", "page_path", "landing_page", "referrer_host", "lyr", "click_id_type"),
    *("attribution_source", "attribution_medium", "channel"),
    *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    *("device_type", "browser", "os", "language", "app_version", "country", "region", "city"),
)
"""What a session keeps of its first event, for dimensions; anything else is looked up in that event."""

EVENTS: Final = sa.Table(
    "events",
    METADATA,
    *(sa.Column(f.name, sql_type(f.type)) for f in COLUMNS),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
    sa.Column("session_no", IdNumber),
)

ADDED: Final = tuple(
    EVENTS.c[name] for name in ("discount", "tax", "shipping", "fee", "payment_id", "message_id")
)
"""Columns that the events of earlier versions do not have; what they would hold is not known of those."""

ID_NUMBERS: Final = sa.Table(
    "ids",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("id", sa.Text),
    sa.Column("no", IdNumber),
)

SESSIONS: Final = sa.Table(
    "sessions",
    METADATA,
    sa.Column("session_no", IdNumber),
    sa.Column("is_bot", sa.Boolean),
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("visitor_id", sa.Text),
    sa.Column("session_id", sa.Text),
    sa.Column("first_at", sa.DateTime),
    sa.Column("first_seq", sa.BigInteger),
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
    *(sa.Column(ENTRY_PREFIX + name, sql_type(_EVENT_FIELD_TYPES[name])) for name in ENTRY_COLUMNS),
)

TOUCH_COLUMNS: Final = (
    *("own_source", "own_medium", "own_channel", "referral_source", "referral_medium", "referral_channel"),
    *CAMPAIGN_COLUMNS,
    *("campaign_in_url", "referrer", "referrer_host", "landing_page", "country"),
)
"""What a touch is made of."""

TOUCH_CANDIDATES: Final = sa.Table(
    "candidates",
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
    "told_touches",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
    sa.Column("timestamp", sa.DateTime),
    sa.Column("seq", sa.BigInteger),
    sa.Column("place", sa.BigInteger),
    sa.Column("touched_at", sa.DateTime),
    *(sa.Column(name, sql_type(_EVENT_FIELD_TYPES[name])) for name in (*REPORTED_TOUCH_COLUMNS, "country")),
)
"""Touches that clients told: ``timestamp`` and ``seq`` of the event that tells, ``touched_at`` of the touch."""

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
    "kin",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", IdNumber),
    sa.Column("strong_no", IdNumber),
)
"""Whether that links them or not: a bot, a revoked link and a visitor of the same name count too."""

EMAIL_DIGESTS: Final = sa.Table(
    "mails",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("digest", sa.Text),
    sa.Column("no", IdNumber),
    sa.Column("source", sa.Text),
)
"""E-mails as digests, with who has one, by strong id or else by visitor, and which visitor of a ``source`` seeks by it."""

VISITOR_OWNERS: Final = sa.Table(
    "owners",
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
    "persons",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("no", IdNumber),
    sa.Column("person_no", IdNumber),
)

REVOKED_LINKS: Final = sa.Table(
    "revoked",
    METADATA,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("event_id", sa.Text),
)

COMPUTED: Final = sa.Table("computed", METADATA, sa.Column("code", sa.BigInteger))

COMPUTED_BY: Final = 2
"""Raise it when a cache is added or computed otherwise: a store of another version computes them anew when it is opened."""

BATCH: Final = sa.Table(
    "batch",
    sa.MetaData(),
    sa.Column("row_no", sa.BigInteger),
    *(sa.Column(f.name, sql_type(f.type)) for f in COLUMNS),
    sa.Column("previous_id", sa.Text),
    sa.Column("web_visitor_id", sa.Text),
    sa.Column("carries", sa.Boolean),
)
"""Events on their way in: their place, their columns, and what they say about persons (`batches.said`)."""
