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

from service_core.plugin import CAMPAIGN_COLUMNS, COLUMNS, TOLD_COLUMNS


class Json(sa.Text):
    """JSON text, or what an engine has for it."""


class Number(sa.BigInteger):
    """The number of a visitor, a strong id or a session: small ones that are handed out, or wide digests."""


_TYPES: Final[Mapping[Any, type[sa.types.TypeEngine[Any]]]] = {
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


def plain(declared: Any) -> Any:
    """The Python type of a field without its ``None``."""
    if isinstance(declared, UnionType):
        return next(kind for kind in get_args(declared) if kind is not type(None))
    return declared


def sql_type(declared: Any) -> sa.types.TypeEngine[Any]:
    """The SQL type of a field: JSON for anything that is not a scalar."""
    return _TYPES.get(plain(declared), Json)()


_DECLARED: Final = {f.name: f.type for f in COLUMNS}
META: Final = sa.MetaData()
POSITION: Final = sa.Numeric(38, 0)
"""Place of an event in the order of all events: its microsecond, then its sequence."""
BEGINNING: Final = datetime(1, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it
END: Final = datetime(9999, 12, 31)  # noqa: DTZ001 - likewise
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
    META,
    *(sa.Column(f.name, sql_type(f.type)) for f in COLUMNS),
    sa.Column("visitor_no", Number),
    sa.Column("strong_no", Number),
    sa.Column("session_no", Number),
)

ADDED: Final = tuple(
    EVENTS.c[name] for name in ("discount", "tax", "shipping", "fee", "payment_id", "message_id")
)
"""Columns that the events of earlier versions do not have; what they would hold is not known of those."""

IDS: Final = sa.Table(
    "ids",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("id", sa.Text),
    sa.Column("no", Number),
)

SESSIONS: Final = sa.Table(
    "sessions",
    META,
    sa.Column("session_no", Number),
    sa.Column("is_bot", sa.Boolean),
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", Number),
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
    sa.Column("touch_at", POSITION),
    sa.Column("campaign", sa.ARRAY(sa.Text)),
    sa.Column("campaign_at", POSITION),
    *(sa.Column(ENTRY_PREFIX + name, sql_type(_DECLARED[name])) for name in ENTRY_COLUMNS),
)

TOUCH_COLUMNS: Final = (
    *("own_source", "own_medium", "own_channel", "referral_source", "referral_medium", "referral_channel"),
    *CAMPAIGN_COLUMNS,
    *("campaign_in_url", "referrer", "referrer_host", "landing_page", "country"),
)
"""What a touch is made of."""

CANDIDATES: Final = sa.Table(
    "candidates",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", Number),
    sa.Column("strong_no", Number),
    sa.Column("session_no", Number),
    sa.Column("timestamp", sa.DateTime),
    sa.Column("seq", sa.BigInteger),
    *(sa.Column(name, sql_type(_DECLARED[name])) for name in TOUCH_COLUMNS),
)

TOLD: Final = sa.Table(
    "told_touches",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", Number),
    sa.Column("strong_no", Number),
    sa.Column("timestamp", sa.DateTime),
    sa.Column("seq", sa.BigInteger),
    sa.Column("place", sa.BigInteger),
    sa.Column("touched_at", sa.DateTime),
    *(sa.Column(name, sql_type(_DECLARED[name])) for name in (*TOLD_COLUMNS, "country")),
)
"""Touches that clients told: ``timestamp`` and ``seq`` of the event that tells, ``touched_at`` of the touch."""

WEAK_LINKS: Final = sa.Table(
    "weak_links",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("event_id", sa.Text),
    sa.Column("visitor_no", Number),
    sa.Column("strong_no", Number),
    sa.Column("timestamp", sa.DateTime),
    sa.Column("seq", sa.BigInteger),
)

KIN: Final = sa.Table(
    "kin",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", Number),
    sa.Column("strong_no", Number),
)
"""Whether that links them or not: a bot, a revoked link and a visitor of the same name count too."""

MAILS: Final = sa.Table(
    "mails",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("digest", sa.Text),
    sa.Column("no", Number),
    sa.Column("source", sa.Text),
)
"""E-mails as digests, with who has one, by strong id or else by visitor, and which visitor of a ``source`` seeks by it."""

OWNERS: Final = sa.Table(
    "owners",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("visitor_no", Number),
    sa.Column("strong_no", Number),
    sa.Column("since", sa.DateTime),
    sa.Column("since_seq", sa.BigInteger),
    sa.Column("until", sa.DateTime),
    sa.Column("until_seq", sa.BigInteger),
)

PERSONS: Final = sa.Table(
    "persons",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("no", Number),
    sa.Column("person_no", Number),
)

REVOKED: Final = sa.Table(
    "revoked",
    META,
    sa.Column("workspace_id", sa.Uuid),
    sa.Column("event_id", sa.Text),
)

COMPUTED: Final = sa.Table("computed", META, sa.Column("code", sa.BigInteger))

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
