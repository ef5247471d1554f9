"""The tables of ClickHouse: what they are sorted by, and how rows replace each other.

A row written twice counts once: every table replaces rows of one sorting key, and questions look
at the latest (``FINAL``), whether or not parts were merged already. Derived rows carry the version
of the append that worked them out; a row that no longer holds is replaced by one that is deleted.
"""

from collections.abc import Iterator
from typing import Any, Final, get_args

import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse.spelling import named
from plugins.events_sql.tables import (
    ADDED,
    CANDIDATES,
    COMPUTED,
    ENTRY_PREFIX,
    EVENTS,
    IDS,
    KIN,
    MAILS,
    OWNERS,
    PERSONS,
    REVOKED,
    SESSIONS,
    TOLD,
    WEAK_LINKS,
)
from service_core.plugin import COLUMNS

_KEYS: Final = {
    EVENTS: "workspace_id, timestamp, seq, event_id",
    IDS: "workspace_id, no",
    SESSIONS: "workspace_id, session_no, is_bot",
    CANDIDATES: "workspace_id, timestamp, seq, session_no",
    OWNERS: "workspace_id, visitor_no, since, since_seq",
    TOLD: "workspace_id, visitor_no, timestamp, seq, place",
    WEAK_LINKS: "workspace_id, visitor_no, timestamp, seq, event_id",
    KIN: "workspace_id, visitor_no, strong_no",
    MAILS: "workspace_id, digest, no, source",
    PERSONS: "workspace_id, no",
    REVOKED: "workspace_id, event_id",
    COMPUTED: "code",
}
DERIVED: Final = (SESSIONS, CANDIDATES, TOLD, WEAK_LINKS, KIN, MAILS, OWNERS, PERSONS, COMPUTED)
"""Tables that follow from events: each row has a version, and may be deleted."""

VERSION: Final = {"version": "Int64", "is_deleted": "UInt8"}
"""What a derived row has beside its columns."""

_OFTEN_ASKED: Final = {
    EVENTS: {
        "event_id": "bloom_filter",
        "received_at": "minmax",
        "session_no": "bloom_filter",
        "visitor_no": "bloom_filter",
    },
    IDS: {"id": "bloom_filter"},
    SESSIONS: {"first_at": "minmax", "last_at": "minmax"},
}
"""Columns with an index that lets a question skip what cannot match, by its kind."""

_FEW: Final = frozenset(
    [
        "event_name",
        "source",
        "sdk_name",
        "sdk_version",
        "session_origin",
        "time_adjusted",
        "attribution_source",
        "attribution_medium",
        "channel",
        "utm_source",
        "utm_medium",
        "click_id_type",
        "device_type",
        "browser",
        "browser_version",
        "os",
        "os_version",
        "language",
        "app_name",
        "app_version",
        "country",
        "timezone",
        "currency",
        "own_medium",
        "own_channel",
        "referral_medium",
        "referral_channel",
    ]
)
"""Texts with few different values, kept as numbers of a dictionary."""

_BY_NUMBER: Final = frozenset({SESSIONS, OWNERS})
"""Tables that every append looks into by numbers, which lie anywhere: it reads a granule for each."""

_GRANULE: Final = 512
"""Rows of such a granule, in place of 8192."""

TOKENS: Final = 10_000
"""Blocks a table remembers, so that one sent again is left out."""


def statements(cluster: str) -> Iterator[str]:
    """Everything that may be missing.

    Args:
        cluster: name of the cluster the tables are replicated and spread over; empty for one server.
    """
    for table in _KEYS:
        yield _local(table, cluster)
        if cluster:
            shard = f"cityHash64({_KEYS[table].partition(',')[0]})"
            yield (
                f"CREATE TABLE IF NOT EXISTS {table.name} ON CLUSTER {cluster} AS {table.name}_local"
                f" ENGINE = Distributed({cluster}, currentDatabase(), {table.name}_local, {shard})"
            )
    added = ", ".join(f"ADD COLUMN IF NOT EXISTS {c.name} {column(EVENTS, c)}" for c in ADDED)
    for name in (
        (f"events_local ON CLUSTER {cluster}", f"events ON CLUSTER {cluster}") if cluster else ("events",)
    ):
        yield f"ALTER TABLE {name} {added}"


def _local(table: sa.Table, cluster: str) -> str:
    columns = [f"{c.name} {column(table, c)}" for c in table.columns]
    arguments = []
    if table in DERIVED:
        columns += [f"{name} {kind}" for name, kind in VERSION.items()]
        arguments = list(VERSION)
    columns += [
        f"INDEX {name}_index {name} TYPE {kind} GRANULARITY 1"
        for name, kind in _OFTEN_ASKED.get(table, {}).items()
    ]
    engine, name, where = "ReplacingMergeTree", table.name, ""
    window = "non_replicated_deduplication_window"
    if cluster:
        engine, name, where = "ReplicatedReplacingMergeTree", f"{name}_local", f" ON CLUSTER {cluster}"
        window = "replicated_deduplication_window"
    granule = f", index_granularity = {_GRANULE}" if table in _BY_NUMBER else ""
    month = " PARTITION BY toYYYYMM(timestamp)" if table is EVENTS else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name}{where} ({', '.join(columns)})"
        f" ENGINE = {engine}({', '.join(arguments)}){month} ORDER BY ({_KEYS[table]})"
        f" SETTINGS {window} = {TOKENS}{granule}"
    )


_ABSENT: Final = {f.name for f in COLUMNS if type(None) in get_args(f.type)}
"""Columns of an event that may have no value."""


def column(table: sa.Table, declared: sa.Column[Any]) -> str:
    """The type of a column; nothing that is sorted by, and no list, is ever absent."""
    if declared.name in {"touch", "campaign"}:
        return "Array(Nullable(String))"
    spelled, name = named(declared.type), declared.name.removeprefix(ENTRY_PREFIX)
    of_event = table in {EVENTS, CANDIDATES, TOLD} or declared.name != name
    if (declared.name in {"strong_no", "campaign_at"} and table not in {OWNERS, KIN, WEAK_LINKS}) or (
        of_event and name in _ABSENT
    ):
        spelled = f"Nullable({spelled})"
    return f"LowCardinality({spelled})" if name in _FEW else spelled
