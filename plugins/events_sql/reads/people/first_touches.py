"""Reads the first touches of the persons of a list of ids, in a few statements however long the list is."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.identity_resolution import is_in_table
from plugins.events_sql.identity.related_visitors import (
    RELATED_VISITORS,
    SELECTED_PERSONS,
    SELECTED_VISITORS,
    create_related_visitors,
    create_selected_visitors,
)
from plugins.events_sql.reads.people.people_list import first_touch_per_person
from plugins.events_sql.reads.people.person_profile import (
    WEAK_ID_EVENTS,
    all_time_scan,
    create_weak_id_events,
    row_to_touch,
)
from plugins.events_sql.schema.tables import ID_NUMBERS, PERSON_MERGES, VISITOR_ID_PAIRS, IdNumber
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import PersonFirstTouch, user_id_of_person

_ID_LIST: Final = sa.table("id_list", sa.column("number", IdNumber))
"""Numbers of the ids to find."""


def first_touch_by_id(
    workspace_id: UUID, ids: Collection[str], reader: StatementRunner
) -> Mapping[str, PersonFirstTouch]:
    """Returns the person of each id, user ids before visitor ids, with the first touch of the person."""
    known = _id_numbers(workspace_id, "u:", ids, reader)
    users = _persons_of_users(workspace_id, known, reader)
    visitors = _id_numbers(workspace_id, "v:", set(ids) - users.keys(), reader)
    persons = {**_persons_of_visitors(workspace_id, visitors, reader), **users}
    if not persons:
        return {}
    create_selected_visitors(workspace_id, _number_rows(workspace_id, persons.values()), reader)
    names = reader.fetch_rows(
        sa.select(ID_NUMBERS.c.number, ID_NUMBERS.c.id).where(
            is_in_table(SELECTED_PERSONS.name, ID_NUMBERS.c.number)
        )
    )
    create_related_visitors(workspace_id, reader)
    touch = first_touch_per_person(all_time_scan(workspace_id), RELATED_VISITORS).subquery("touch")
    own = sa.select(touch).where(is_in_table(SELECTED_PERSONS.name, touch.c.person_no))
    touches = {row[0]: row_to_touch(row[1:]) for row in reader.fetch_rows(own)}
    called = dict(names)
    return {
        id_: PersonFirstTouch(user_id_of_person(called[no]), touches.get(no)) for id_, no in persons.items()
    }


def _id_numbers(
    workspace_id: UUID, prefix: str, ids: Iterable[str], reader: StatementRunner
) -> dict[str, int]:
    """Returns the numbers of the ids of one kind that are stored."""
    spelled = [prefix + id_ for id_ in ids]
    if not spelled:
        return {}
    own = (ID_NUMBERS.c.workspace_id == workspace_id, name_in(ID_NUMBERS.c.id, spelled))
    rows = reader.fetch_rows(sa.select(ID_NUMBERS.c.id, ID_NUMBERS.c.number).where(*own))
    return {id_.removeprefix(prefix): no for id_, no in rows}


def _persons_of_users(
    workspace_id: UUID, known: Mapping[str, int], reader: StatementRunner
) -> dict[str, int]:
    """Returns the persons of strong ids, without ids that were only mentioned by other events."""
    if not known:
        return {}
    reader.create_temp_table(_ID_LIST.name, _number_rows(workspace_id, known.values()))
    parts = dict(
        reader.fetch_rows(
            _rows_with_listed_id(workspace_id, PERSON_MERGES.c.number, PERSON_MERGES.c.person_no)
        )
    )
    wholes = reader.fetch_rows(_rows_with_listed_id(workspace_id, PERSON_MERGES.c.person_no))
    beside = reader.fetch_rows(_rows_with_listed_id(workspace_id, VISITOR_ID_PAIRS.c.strong_no))
    lived = {no for (no,) in (*wholes, *beside)}
    return {id_: parts.get(no, no) for id_, no in known.items() if no in parts or no in lived}


def _persons_of_visitors(
    workspace_id: UUID, visitors: Mapping[str, int], reader: StatementRunner
) -> dict[str, int]:
    """Returns the persons of the latest events of visitors."""
    if not visitors:
        return {}
    reader.create_temp_table(SELECTED_VISITORS.name, _number_rows(workspace_id, visitors.values()))
    create_weak_id_events(workspace_id, "visitor_id", reader)
    newest = (WEAK_ID_EVENTS.c.timestamp.desc(), WEAK_ID_EVENTS.c.seq.desc())
    place = sa.func.row_number().over(partition_by=WEAK_ID_EVENTS.c.weak_id, order_by=newest).label("place")
    had = sa.select(WEAK_ID_EVENTS.c.weak_id, WEAK_ID_EVENTS.c.person_no, place).subquery("latest")
    return dict(reader.fetch_rows(sa.select(had.c.weak_id, had.c.person_no).where(had.c.place == 1)))


def _rows_with_listed_id(workspace_id: UUID, column: Any, *further: Expression) -> sa.Select[Any]:
    own = (column.table.c.workspace_id == workspace_id, is_in_table(_ID_LIST.name, column))
    return sa.select(column, *further).where(*own).distinct()


def _number_rows(workspace_id: UUID, numbers: Iterable[int]) -> sa.Select[Any]:
    """Selects the given numbers as rows."""
    own = fn.InValues(
        ID_NUMBERS.c.number, *(sa.literal(number, IdNumber()) for number in sorted(set(numbers)))
    )
    return sa.select(ID_NUMBERS.c.number).where(ID_NUMBERS.c.workspace_id == workspace_id, own)
