"""Deletion of events and truncation of IP addresses on ClickHouse, by mutations that rewrite the parts of a table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import Final
from uuid import UUID

from plugins.events_sql.execution.query_executor import DeletedRowsByTable, StatementRunner
from plugins.events_sql.schema.tables import (
    REPORTED_TOUCHES,
    SESSIONS,
    TOUCH_CANDIDATES,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
    WEAK_LINKS,
)
from plugins.events_sql.writes.event_conditions import (
    HAS_WHOLE_ADDRESS,
    TABLES_OF_EVENTS,
    has_sequence_number,
    received_between,
    superseded_with,
)
from service_core.plugin import ADDRESS_PATTERNS, POSSIBLE_ADDRESS_PATTERN

_TRUNCATED_ADDRESS: Final = r"""
multiIf(
  ip LIKE '::%', '::/48',
  ip LIKE '%:%', replaceRegexpOne(assumeNotNull(ip), '^(([0-9a-fA-F]+:){1,3}).*$', '\\1:/48'),
  replaceRegexpOne(assumeNotNull(ip), '^([0-9]+[.][0-9]+[.][0-9]+)[.].*$', '\\1.0/24'))
"""


def _regex_literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\") + "'"


_TRUNCATED_PROPERTIES: Final = reduce(
    lambda text, rule: f"replaceRegexpAll({text}, {_regex_literal(rule[0])}, {_regex_literal(rule[1])})",
    ADDRESS_PATTERNS,
    "event_data",
)
_HAS_ADDRESS_IN_PROPERTIES: Final = f"(match(event_data, {_regex_literal(POSSIBLE_ADDRESS_PATTERN)}) AND {_TRUNCATED_PROPERTIES} <> event_data)"
_WAIT: Final = "SETTINGS mutations_sync = 2"
_NUMBERS_PER_MUTATION: Final = 5000
_VISITOR_TABLES: Final = (
    SESSIONS,
    TOUCH_CANDIDATES,
    REPORTED_TOUCHES,
    WEAK_LINKS,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
)


def truncate_addresses(
    writer: StatementRunner, cluster: str, before: datetime, since: datetime | None
) -> int:
    """Cuts the IP addresses of events received in a time range."""
    span = received_between(since, before)
    return sum(_truncate_addresses_in(writer, cluster, table, span) for table in TABLES_OF_EVENTS)


def _truncate_addresses_in(writer: StatementRunner, cluster: str, table: str, span: str) -> int:
    """Cuts the addresses of the received events of a table and returns how many had whole ones."""
    count = _count(writer, f"{table} WHERE {span} AND ({HAS_WHOLE_ADDRESS} OR {_HAS_ADDRESS_IN_PROPERTIES})")
    if count:
        _mutate(
            writer,
            cluster,
            table,
            f"UPDATE ip = {_TRUNCATED_ADDRESS} WHERE {span} AND {HAS_WHOLE_ADDRESS}",
        )
        properties = (
            f"UPDATE event_data = {_TRUNCATED_PROPERTIES} WHERE {span} AND {_HAS_ADDRESS_IN_PROPERTIES}"
        )
        _mutate(writer, cluster, table, properties)
    return count


def delete_events(
    writer: StatementRunner,
    cluster: str,
    workspace_id: UUID,
    conditions: Sequence[str],
    *,
    keep_versions: bool = False,
) -> DeletedRowsByTable:
    """Deletes the events of a workspace that meet any of the conditions, and the revocations of their links.

    Args:
        writer: of the store.
        cluster: name of the cluster; empty for one server.
        workspace_id: the workspace.
        conditions: of the events, in SQL.
        keep_versions: whether what the events were stays readable at an earlier instant.
    """
    own = f"workspace_id = '{workspace_id}'"
    deleted = Counter(events=0)
    for condition in conditions:
        deleted += _delete_superseded_events(writer, cluster, own, condition)
        versions = 0 if keep_versions else _count(writer, f"event_versions WHERE {own} AND {condition}")
        if versions:
            _mutate(writer, cluster, "event_versions", f"DELETE WHERE {own} AND {condition}")
            deleted["event_versions"] += versions
        rows = writer.execute_text(f"SELECT event_id FROM events WHERE {own} AND {condition}")  # noqa: S608 - no input
        if not rows:
            continue
        deleted["events"] += len(rows)
        revoked = writer.execute_text(
            f"SELECT event_id FROM revoked_links WHERE {own} AND event_id IN "  # noqa: S608 - no input
            f"(SELECT event_id FROM events WHERE {own} AND {condition})"
        )
        for (event_id,) in revoked:
            _mutate(
                writer,
                cluster,
                "revoked_links",
                f"DELETE WHERE {own} AND event_id = {_text_literal(event_id)}",
            )
            deleted["revoked_links"] += 1
        _mutate(writer, cluster, "events", f"DELETE WHERE {own} AND {condition}")
    return deleted


def _delete_superseded_events(
    writer: StatementRunner, cluster: str, own: str, condition: str
) -> DeletedRowsByTable:
    """Deletes the superseded events that meet a condition, or whose superseding event does; it is not deleted yet."""
    rows = writer.execute_text(f"SELECT seq FROM superseded_events WHERE {superseded_with(own, condition)}")  # noqa: S608 - no input
    for of_numbers in has_sequence_number([seq for (seq,) in rows]):
        _mutate(writer, cluster, "superseded_events", f"DELETE WHERE {own} AND {of_numbers}")
    return Counter(superseded_events=len(rows))


def delete_events_by_seq(
    writer: StatementRunner, cluster: str, workspace_id: UUID, seqs: Iterable[int]
) -> None:
    """Deletes events by sequence number; revocations of their links stay."""
    for condition in has_sequence_number(list(seqs)):
        _mutate(writer, cluster, "events", f"DELETE WHERE workspace_id = '{workspace_id}' AND {condition}")


def delete_rows(writer: StatementRunner, cluster: str, table: str, condition: str) -> None:
    """Deletes the rows of a table that meet a condition."""
    _mutate(writer, cluster, table, f"DELETE WHERE {condition}")


def delete_unused_ids(writer: StatementRunner, cluster: str, workspace_id: UUID) -> DeletedRowsByTable:
    """Deletes the ids that no event carries any more, and what the tables still hold of them."""
    own = f"workspace_id = '{workspace_id}'"
    used = {
        int(number)
        for query in (
            f"SELECT DISTINCT visitor_no FROM events WHERE {own}",  # noqa: S608 - no input
            f"SELECT DISTINCT strong_no FROM events WHERE {own} AND strong_no IS NOT NULL",  # noqa: S608 - no input
            f"SELECT DISTINCT visitor_no FROM weak_links WHERE {own}",  # noqa: S608 - no input
            f"SELECT number FROM person_merges WHERE {own}",  # noqa: S608 - no input
            f"SELECT person_no FROM person_merges WHERE {own}",  # noqa: S608 - no input
        )
        for (number,) in writer.execute_text(query)
    }
    ids = writer.execute_text(f"SELECT number FROM id_numbers WHERE {own}")  # noqa: S608 - no input
    unused = sorted({int(number) for (number,) in ids} - used)
    for start in range(0, len(unused), _NUMBERS_PER_MUTATION):
        numbers = _number_list(unused[start : start + _NUMBERS_PER_MUTATION])
        for table in _VISITOR_TABLES:
            _mutate(writer, cluster, table.name, f"DELETE WHERE {own} AND visitor_no IN ({numbers})")
        for name in ("email_digests", "person_merges", "id_numbers"):
            _mutate(writer, cluster, name, f"DELETE WHERE {own} AND number IN ({numbers})")
    return Counter(id_numbers=len(unused))


def _number_list(numbers: Iterable[int]) -> str:
    return ", ".join(f"toInt128('{number}')" for number in numbers)


def _mutate(writer: StatementRunner, cluster: str, table: str, command: str) -> None:
    """Changes the stored parts of a table, and waits until all replicas have done so."""
    target = f"{table}_local ON CLUSTER {cluster}" if cluster else table
    writer.execute_text(f"ALTER TABLE {target} {command} {_WAIT}")


def _text_literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _count(writer: StatementRunner, rows: str) -> int:
    ((count,),) = writer.execute_text(f"SELECT count() FROM {rows}")  # noqa: S608 - no input
    return int(count)
