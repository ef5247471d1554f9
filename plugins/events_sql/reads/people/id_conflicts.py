"""Lists id conflicts: external ids that are carried by several persons and therefore merge none of them.

Where an external id merges persons, its events belong to one person; so ids of several persons are conflicts.
"""

from itertools import groupby
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.person_merges import (
    OWNER_KEY_COLUMNS,
    joined_to_owner_before_merges,
    linking_conditions,
    one_row_per_external_id,
    prefiltered_events,
)
from plugins.events_sql.schema.row_mapping import parse_json, to_utc
from plugins.events_sql.schema.tables import EVENTS, ID_NUMBERS, PERSON_MERGES
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import MAX_CONFLICTING_PERSONS, ConflictingPerson, ExternalIdConflict


def list_id_conflicts_and_count_all(
    workspace_id: UUID, limit: int, runner: StatementRunner
) -> tuple[list[ExternalIdConflict], int]:
    """Returns the first external ids with a conflict, and the number of all of them.

    Ids that most identified persons carry come first, then those seen last; each lists some of its persons.
    """
    claim_rows = runner.fetch_rows(_first_conflicts_with_claims(workspace_id, limit))
    listed = [list(rows) for _, rows in groupby(claim_rows, key=lambda row: row[1])]
    return [_build_id_conflict(rows) for rows in listed], claim_rows[0][0] if claim_rows else 0


def _build_id_conflict(claim_rows: list[tuple[Any, ...]]) -> ExternalIdConflict:
    _, _, namespace, value, users, persons, *_ = claim_rows[0]
    claims = (
        ConflictingPerson(name, events, event_id, to_utc(at)) for *_, name, events, event_id, at in claim_rows
    )
    return ExternalIdConflict(namespace, parse_json(value), users, persons, tuple(claims))


_ID_COLUMNS: Final = ("total", "place", "key", "value", "users", "persons")
_CLAIM_COLUMNS: Final = ("name", "events", "event_id", "at")


def _first_conflicts_with_claims(workspace: UUID, max_external_ids: int) -> sa.Select[Any]:
    """Selects the first ids in order, with a row for each of the first persons that carry one."""
    claims = _shared_id_claims_with_person_names(workspace).cte("named")
    c = claims.c
    users = sa.func.sum(sa.case((fn.TextStartsWith(c.name, sa.literal("u:")), 1), else_=0)).label("users")
    id_columns = (c.key, c.value, c.persons, c.last)
    ids = sa.select(*id_columns, users).group_by(*id_columns).subquery("ids_of")
    order = (ids.c.users.desc(), ids.c.last.desc(), ids.c.key)
    place = sa.func.row_number().over(order_by=order).label("place")
    placed = sa.select(ids, place, sa.func.count().over().label("total")).subquery("placed")
    first = sa.select(placed).where(placed.c.place <= max_external_ids).subquery("first")
    claim = sa.func.row_number().over(partition_by=first.c.place, order_by=c.name).label("claim")
    columns = (*(first.c[n] for n in _ID_COLUMNS), *(c[n] for n in _CLAIM_COLUMNS))
    claims_of_first = (
        sa.select(*columns, claim)
        .join_from(claims, first, _is_same_external_id(c, first.c))
        .subquery("claims_of_first")
    )
    query = sa.select(*(claims_of_first.c[n] for n in (*_ID_COLUMNS, *_CLAIM_COLUMNS)))
    return query.where(claims_of_first.c.claim <= MAX_CONFLICTING_PERSONS).order_by(
        claims_of_first.c.place, claims_of_first.c.claim
    )


def _is_same_external_id(first: Any, second: Any) -> Expression:
    return sa.and_(first.key == second.key, first.value == second.value)


def _shared_id_claims_with_person_names(workspace: UUID) -> sa.Select[Any]:
    """Selects the persons that carry an id that other persons carry too."""
    claims = _external_id_claims_per_person(workspace).cte("claims")
    c = claims.c
    persons, last = sa.func.count().label("persons"), sa.func.max(fn.EventPosition(c.at, c.seq)).label("last")
    by_id = sa.select(c.key, c.value, persons, last).group_by(c.key, c.value)
    shared = by_id.having(sa.func.count() > 1).subquery("shared")
    columns = (claims, shared.c.persons, shared.c.last)
    shared_claims = (
        sa.select(*columns).join_from(claims, shared, _is_same_external_id(c, shared.c)).cte("shared_claims")
    )
    conditions = (
        ID_NUMBERS.c.workspace_id == workspace,
        ID_NUMBERS.c.number.in_(sa.select(shared_claims.c.person_no)),
    )
    names = sa.select(ID_NUMBERS.c.number, ID_NUMBERS.c.id.label("name")).where(*conditions).subquery("names")
    return sa.select(shared_claims, names.c.name).join_from(
        shared_claims, names, names.c.number == shared_claims.c.person_no
    )


def _external_id_claims_per_person(workspace: UUID) -> sa.Select[Any]:
    """Selects external ids and the persons whose events carry them, with the number of events and the latest one."""
    ids = EVENTS.c.external_ids
    where = [*linking_conditions(workspace), ids.is_not(None)]
    events = prefiltered_events("carrying", *OWNER_KEY_COLUMNS, ids, EVENTS.c.event_id, where=where)
    source, visitor_person = joined_to_owner_before_merges(events)
    parts = sa.select(PERSON_MERGES.c.number, PERSON_MERGES.c.person_no).where(
        PERSON_MERGES.c.workspace_id == workspace
    )
    part = parts.subquery("part")
    number = sa.func.coalesce(part.c.person_no, visitor_person).label("person_no")
    carried = _count_and_latest_event_per_group(
        events.c, sa.func.count(), events.c.timestamp, group_columns=(events.c.external_ids, number)
    )
    external_ids = one_row_per_external_id(
        carried.select_from(source.outerjoin(part, part.c.number == visitor_person))
    ).c
    return _count_and_latest_event_per_group(
        external_ids,
        sa.func.sum(external_ids.events),
        external_ids.at,
        group_columns=(external_ids.key, external_ids.value, external_ids.person_no),
    )


def _count_and_latest_event_per_group(
    event_columns: Any, event_count: Expression, at: Expression, *, group_columns: tuple[Expression, ...]
) -> sa.Select[Any]:
    """Selects the number of events and the latest event of each group."""
    seq = sa.cast(fn.LatestBy(event_columns.seq, at, event_columns.seq), sa.BigInteger).label("seq")
    event_id = fn.LatestBy(event_columns.event_id, at, event_columns.seq).label("event_id")
    columns = (
        *group_columns,
        fn.IntegerOrZero(event_count).label("events"),
        sa.func.max(at).label("at"),
        seq,
        event_id,
    )
    return sa.select(*columns).group_by(*group_columns)
