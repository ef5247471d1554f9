"""Ids that are part of another person: by `$alias` (semantics 5.5) and by external ids (5.6).

What `insight.stitch` says of events is worked out here on numbers, once per change and workspace,
so that a question only looks the result up.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import duckdb

EMAIL_MATCH: Final = (
    "event_name = '$web_attribution_matched' AND json_extract_string(event_data, '$.match_method') = 'email'"
)
_UNREVOKED: Final = "(e.workspace_id, e.event_id) NOT IN (SELECT workspace_id, event_id FROM revoked)"

_PAIRS: Final = f"""
SELECT i.no, e.strong_no FROM events e
JOIN ids i ON i.workspace_id = e.workspace_id AND i.id = 'u:' || json_extract_string(e.event_data, '$.previous_id')
WHERE e.workspace_id = $1 AND e.event_name = '$alias' AND e.strong_no IS NOT NULL AND NOT e.is_bot
  AND i.no <> e.strong_no AND json_type(e.event_data, '$.previous_id') = 'VARCHAR' AND {_UNREVOKED}
ORDER BY e.timestamp, e.seq
"""  # noqa: S608 - text of our own

_OWNER: Final = """
LEFT JOIN owners o ON o.visitor_no = e.visitor_no
  AND (e.timestamp > o.since OR (e.timestamp = o.since AND e.seq >= o.since_seq))
  AND (e.timestamp < o.until OR (e.timestamp = o.until AND e.seq < o.until_seq))
"""

_CARRIERS: Final = f"""
SELECT DISTINCT e.external, coalesce(e.strong_no, o.strong_no, e.visitor_no) FROM (
  SELECT workspace_id, event_id, visitor_no, strong_no, timestamp, seq,
    unnest(map_entries(CAST(json(external_ids) AS MAP(VARCHAR, VARCHAR)))) AS external
  FROM events WHERE workspace_id = $1 AND external_ids IS NOT NULL AND NOT is_bot
) e {_OWNER} WHERE {_UNREVOKED}
"""  # noqa: S608 - text of our own

_MATCHES: Final = f"""
SELECT e.event_id, coalesce(e.strong_no, o.strong_no, e.visitor_no), w.no, list(DISTINCT l.strong_no)
FROM events e {_OWNER}
LEFT JOIN ids w ON w.workspace_id = e.workspace_id
  AND w.id = 'v:' || CASE WHEN json_type(e.event_data, '$.web_visitor_id') = 'VARCHAR'
                          THEN json_extract_string(e.event_data, '$.web_visitor_id') END
LEFT JOIN owners l ON l.visitor_no = w.no
WHERE e.workspace_id = $1 AND {EMAIL_MATCH.replace("event_", "e.event_")} AND NOT e.is_bot AND {_UNREVOKED}
GROUP BY ALL
"""  # noqa: S608 - text of our own


def names(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Strong id -> the one that names its person, from (old, new) pairs in order of time.

    The new id of the latest pair names the whole person; a repeated or circular pair is harmless.
    """
    together: dict[int, set[int]] = {}
    named: dict[int, int] = {}
    for old, new in pairs:
        group = together.get(old, {old}) | together.get(new, {new})
        together |= dict.fromkeys(group, group)
        named |= dict.fromkeys(group, new)
    return named


def joined(carriers: Mapping[Any, set[int]], texts: Mapping[int, str]) -> dict[int, int]:
    """Person -> the person it is a part of, by the external ids they carry.

    Args:
        carriers: external id -> persons that carry it.
        texts: person -> ``u:..`` or ``v:..``. Persons that hang together with two known ones among
            them join nobody.
    """
    groups: dict[int, set[int]] = {}
    for persons in carriers.values():
        group = set().union(*(groups.get(person, {person}) for person in persons))
        groups |= dict.fromkeys(group, group)
    parts: dict[int, int] = {}
    for group in {id(group): group for group in groups.values()}.values():
        known = [person for person in group if texts[person].startswith("u:")]
        if len(known) <= 1:
            parts |= dict.fromkeys(group, known[0] if known else min(group, key=texts.__getitem__))
    return parts


def refresh_persons(cursor: duckdb.DuckDBPyConnection, workspaces: Iterable[UUID]) -> None:
    """Work out anew which ids are part of which person in some workspaces."""
    for workspace in workspaces:
        named = names(cursor.execute(_PAIRS, [workspace]).fetchall())
        parts = joined(*_carried(cursor, workspace, named))
        found = {one: parts.get(name, name) for one, name in named.items()}
        found = {one: person for one, person in (parts | found).items() if one != person}
        cursor.execute("DELETE FROM persons WHERE workspace_id = $1", [workspace])
        if found:
            cursor.execute(
                "INSERT INTO persons SELECT $1, unnest($2), unnest($3)",
                [workspace, list(found), list(found.values())],
            )


def _carried(
    cursor: duckdb.DuckDBPyConnection, workspace: UUID, named: Mapping[int, int]
) -> tuple[dict[Any, set[int]], dict[int, str]]:
    """Who carries which external id, and how the carriers are called."""
    carriers: defaultdict[Any, set[int]] = defaultdict(set)
    for external, own in cursor.execute(_CARRIERS, [workspace]).fetchall():
        carriers[external["key"], external["value"]].add(named.get(own, own))
    for event_id, own, web, owned in cursor.execute(_MATCHES, [workspace]).fetchall():
        everyone = {named.get(one, one) for one in owned or () if one is not None} or {web}
        carriers[event_id] |= {named.get(own, own), *(everyone - {None})}
    persons = list(set().union(*carriers.values())) if carriers else []
    texts = cursor.execute(
        "SELECT no, id FROM ids WHERE list_contains($1::BIGINT[], no)", [persons]
    ).fetchall()
    return carriers, dict(texts)
