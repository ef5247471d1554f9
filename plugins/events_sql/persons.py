"""Ids that are part of another person: strong ids joined by `$alias` (semantics 5.5)."""

from collections.abc import Iterable
from typing import Any

import duckdb


def names(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Id -> the id that names its person, from (old, new) pairs in order of time.

    The new id of the latest pair names the whole person; a repeated or circular pair is harmless.
    """
    together: dict[int, set[int]] = {}
    named: dict[int, int] = {}
    for old, new in pairs:
        group = together.get(old, {old}) | together.get(new, {new})
        together |= dict.fromkeys(group, group)
        named |= dict.fromkeys(group, new)
    return {one: name for one, name in named.items() if one != name}


def refresh_persons(cursor: duckdb.DuckDBPyConnection, source: str) -> None:
    """Compute the persons of every workspace in ``source`` (a table, perhaps with a condition)."""
    text = f"SELECT DISTINCT workspace_id FROM {source}"  # noqa: S608 - our own table
    for (workspace,) in cursor.execute(text).fetchall():
        pairs: list[Any] = cursor.execute(
            """SELECT i.no, e.strong_no FROM events e
            JOIN ids i ON i.workspace_id = e.workspace_id
              AND i.id = 'u:' || json_extract_string(e.event_data, '$.previous_id')
            WHERE e.workspace_id = $1 AND e.event_name = '$alias' AND e.strong_no IS NOT NULL AND NOT e.is_bot
              AND i.no <> e.strong_no AND json_type(e.event_data, '$.previous_id') = 'VARCHAR'
              AND (e.workspace_id, e.event_id) NOT IN (SELECT workspace_id, event_id FROM revoked)
            ORDER BY e.timestamp, e.seq""",
            [workspace],
        ).fetchall()
        cursor.execute("DELETE FROM persons WHERE workspace_id = $1", [workspace])
        for old, new in names(pairs).items():
            cursor.execute("INSERT INTO persons VALUES ($1, $2, $3)", [workspace, old, new])
