"""CREATE TABLE statements of ClickHouse: sorting keys and replacing engines.

A row inserted twice counts once: every table replaces rows with the same sorting key, and reads use ``FINAL``,
which returns the latest row whether or not parts are merged. Derived rows carry the version of the append that
computed them; an outdated row is replaced by a deleted one.
"""

from collections.abc import Iterator
from typing import Any, Final, get_args

import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse.compiler import type_name
from plugins.events_sql.schema.store_version import INSERT_VERSION, insert_recording_start_if_new
from plugins.events_sql.schema.tables import (
    EMAIL_DIGESTS,
    ENTRY_PREFIX,
    EVENT_DELETIONS,
    EVENT_VERSIONS,
    EVENTS,
    ID_NUMBERS,
    PERSON_MERGES,
    RECORDING_STARTS,
    REPORTED_TOUCHES,
    REVOKED_LINKS,
    SESSIONS,
    STORE_VERSION,
    SUPERSEDED_EVENTS,
    TOUCH_CANDIDATES,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
    WEAK_LINKS,
)
from service_core.plugin import COLUMNS, COMPUTED_COLUMNS

_SORTING_KEYS: Final = {
    STORE_VERSION: "version",
    EVENTS: "workspace_id, timestamp, seq, event_id",
    ID_NUMBERS: "workspace_id, number",
    SESSIONS: "workspace_id, session_no, is_bot, from_device",
    TOUCH_CANDIDATES: "workspace_id, timestamp, seq, session_no",
    VISITOR_OWNERS: "workspace_id, visitor_no, since, since_seq",
    REPORTED_TOUCHES: "workspace_id, visitor_no, timestamp, seq, side",
    WEAK_LINKS: "workspace_id, visitor_no, timestamp, seq, event_id",
    VISITOR_ID_PAIRS: "workspace_id, visitor_no, strong_no",
    EMAIL_DIGESTS: "workspace_id, digest, number, source",
    PERSON_MERGES: "workspace_id, number",
    REVOKED_LINKS: "workspace_id, event_id",
    SUPERSEDED_EVENTS: "workspace_id, seq",
    EVENT_VERSIONS: "workspace_id, seq, recorded_until",
    EVENT_DELETIONS: "workspace_id, deleted_at",
    RECORDING_STARTS: "started_at",
}
DERIVED_TABLES: Final = (
    SESSIONS,
    TOUCH_CANDIDATES,
    REPORTED_TOUCHES,
    WEAK_LINKS,
    VISITOR_ID_PAIRS,
    EMAIL_DIGESTS,
    VISITOR_OWNERS,
    PERSON_MERGES,
)
"""Tables derived from events: each row has a version and may be deleted."""

VERSION_COLUMNS: Final = {"version": "Int64", "is_deleted": "UInt8"}
"""Additional columns of derived tables."""

_SKIP_INDEXES: Final = {
    EVENTS: {
        "event_id": "bloom_filter",
        "received_at": "minmax",
        "session_no": "bloom_filter",
        "visitor_no": "bloom_filter",
    },
    ID_NUMBERS: {"id": "bloom_filter"},
    SESSIONS: {"first_at": "minmax", "last_at": "minmax"},
}
"""Columns with a data-skipping index, and its type."""

_LOW_CARDINALITY: Final = frozenset(
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
"""Text columns with few distinct values, stored with a dictionary."""

_SMALL_GRANULE_TABLES: Final = frozenset({SESSIONS, VISITOR_OWNERS})
"""Tables that every append reads by scattered numbers, one granule for each."""

_SMALL_GRANULE_ROWS: Final = 512
"""Rows of a granule of these tables, instead of 8192."""

DEDUPLICATION_WINDOW: Final = 10_000
"""Inserted blocks a table remembers, so that a block sent again is ignored."""


def create_if_missing_statements(cluster: str) -> Iterator[str]:
    """Yields CREATE statements for everything that may be missing.

    Args:
        cluster: name of the cluster to replicate and distribute tables over; empty for one server.
    """
    for table in _SORTING_KEYS:
        yield _create_local_table_statement(table, cluster)
        if cluster:
            shard = f"cityHash64({_SORTING_KEYS[table].partition(',')[0]})"
            yield (
                f"CREATE TABLE IF NOT EXISTS {table.name} ON CLUSTER {cluster} AS {table.name}_local"
                f" ENGINE = Distributed({cluster}, currentDatabase(), {table.name}_local, {shard})"
            )
        if table is STORE_VERSION:
            yield INSERT_VERSION
        if table is RECORDING_STARTS:
            yield insert_recording_start_if_new()


def _create_local_table_statement(table: sa.Table, cluster: str) -> str:
    columns = [f"{c.name} {clickhouse_column_type(table, c)}" for c in table.columns]
    arguments = []
    if table in DERIVED_TABLES:
        columns += [f"{name} {kind}" for name, kind in VERSION_COLUMNS.items()]
        arguments = list(VERSION_COLUMNS)
    columns += [
        f"INDEX {name}_index {name} TYPE {kind} GRANULARITY 1"
        for name, kind in _SKIP_INDEXES.get(table, {}).items()
    ]
    engine, name, where = "ReplacingMergeTree", table.name, ""
    window = "non_replicated_deduplication_window"
    if cluster:
        engine, name, where = "ReplicatedReplacingMergeTree", f"{name}_local", f" ON CLUSTER {cluster}"
        window = "replicated_deduplication_window"
    granule = f", index_granularity = {_SMALL_GRANULE_ROWS}" if table in _SMALL_GRANULE_TABLES else ""
    month = " PARTITION BY toYYYYMM(timestamp)" if table is EVENTS else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name}{where} ({', '.join(columns)})"
        f" ENGINE = {engine}({', '.join(arguments)}){month} ORDER BY ({_SORTING_KEYS[table]})"
        f" SETTINGS {window} = {DEDUPLICATION_WINDOW}{granule}"
    )


_NULLABLE_COLUMNS: Final = {f.name for f in (*COLUMNS, *COMPUTED_COLUMNS) if type(None) in get_args(f.type)}
"""Event columns that may be NULL."""


def clickhouse_column_type(table: sa.Table, column: sa.Column[Any]) -> str:
    """Returns the type of a column; columns of sorting keys and arrays are never nullable."""
    if column.name in {"touch", "campaign"}:
        return "Array(Nullable(String))"
    spelled, name = type_name(column.type), column.name.removeprefix(ENTRY_PREFIX)
    of_event = (
        table in {EVENTS, SUPERSEDED_EVENTS, EVENT_VERSIONS, TOUCH_CANDIDATES, REPORTED_TOUCHES}
        or column.name != name
    )
    if (
        column.name in {"strong_no", "campaign_at", "exit_page", "exit_at"}
        and table not in {VISITOR_OWNERS, VISITOR_ID_PAIRS, WEAK_LINKS}
    ) or (of_event and name in _NULLABLE_COLUMNS):
        spelled = f"Nullable({spelled})"
    return f"LowCardinality({spelled})" if name in _LOW_CARDINALITY else spelled
