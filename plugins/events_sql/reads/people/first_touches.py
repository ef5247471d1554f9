"""Reads the first touches of the persons of a list of ids, in a few statements however long the list is."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.attribution.touches import first_touch_per_person
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.identity_resolution import is_in_table
from plugins.events_sql.identity.related_visitors import (
    RELATED_VISITORS,
    SELECTED_PERSONS,
    SELECTED_VISITORS,
    create_related_visitors_table,
    create_selected_visitor_tables,
)
from plugins.events_sql.reads.people.person_profile import (
    WEAK_ID_EVENTS,
    all_time_scope_without_conversions,
    create_weak_id_events_table,
    row_to_touch,
)
from plugins.events_sql.schema.tables import ID_NUMBERS, PERSON_MERGES, VISITOR_ID_PAIRS, IdNumber
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import PersonFirstTouch, user_id_of_person

_ID_LIST: Final = sa.table("id_list", sa.column("number", IdNumber))
"""Numbers of the ids to find."""


def first_touch_by_known_id(
    workspace_id: UUID, ids: Collection[str], runner: StatementRunner
) -> Mapping[str, PersonFirstTouch]:
    """Returns the person of each id, user ids before visitor ids, with the first touch of the person."""
    numbers = _stored_id_numbers(workspace_id, "u:", ids, runner)
    users = _persons_of_occurring_strong_ids(workspace_id, numbers, runner)
    visitors = _stored_id_numbers(workspace_id, "v:", set(ids) - users.keys(), runner)
    persons = {**_persons_of_latest_visitor_events(workspace_id, visitors, runner), **users}
    if not persons:
        return {}
    create_selected_visitor_tables(
        workspace_id, _stored_numbers_as_rows(workspace_id, persons.values()), runner
    )
    names = runner.fetch_rows(
        sa.select(ID_NUMBERS.c.number, ID_NUMBERS.c.id).where(
            is_in_table(SELECTED_PERSONS.name, ID_NUMBERS.c.number)
        )
    )
    create_related_visitors_table(workspace_id, runner)
    touch = first_touch_per_person(
        all_time_scope_without_conversions(workspace_id), RELATED_VISITORS
    ).subquery("touch")
    touch_query = sa.select(touch).where(is_in_table(SELECTED_PERSONS.name, touch.c.person_no))
    touches = {row[0]: row_to_touch(row[1:]) for row in runner.fetch_rows(touch_query)}
    names_by_number = dict(names)
    return {
        id_: PersonFirstTouch(user_id_of_person(names_by_number[no]), touches.get(no))
        for id_, no in persons.items()
    }


def _stored_id_numbers(
    workspace_id: UUID, id_prefix: str, ids: Iterable[str], runner: StatementRunner
) -> dict[str, int]:
    """Returns the numbers of the ids of one kind that are stored."""
    prefixed = [id_prefix + id_ for id_ in ids]
    if not prefixed:
        return {}
    conditions = (ID_NUMBERS.c.workspace_id == workspace_id, name_in(ID_NUMBERS.c.id, prefixed))
    rows = runner.fetch_rows(sa.select(ID_NUMBERS.c.id, ID_NUMBERS.c.number).where(*conditions))
    return {id_.removeprefix(id_prefix): no for id_, no in rows}


def _persons_of_occurring_strong_ids(
    workspace_id: UUID, number_by_id: Mapping[str, int], runner: StatementRunner
) -> dict[str, int]:
    """Returns the persons of strong ids, without ids that were only mentioned by other events."""
    if not number_by_id:
        return {}
    runner.create_temp_table(_ID_LIST.name, _stored_numbers_as_rows(workspace_id, number_by_id.values()))
    parts = dict(
        runner.fetch_rows(
            _rows_with_listed_id(workspace_id, PERSON_MERGES.c.number, PERSON_MERGES.c.person_no)
        )
    )
    wholes = runner.fetch_rows(_rows_with_listed_id(workspace_id, PERSON_MERGES.c.person_no))
    beside = runner.fetch_rows(_rows_with_listed_id(workspace_id, VISITOR_ID_PAIRS.c.strong_no))
    person_numbers = {no for (no,) in (*wholes, *beside)}
    return {id_: parts.get(no, no) for id_, no in number_by_id.items() if no in parts or no in person_numbers}


def _persons_of_latest_visitor_events(
    workspace_id: UUID, number_by_visitor_id: Mapping[str, int], runner: StatementRunner
) -> dict[str, int]:
    """Returns the persons of the latest events of visitors."""
    if not number_by_visitor_id:
        return {}
    runner.create_temp_table(
        SELECTED_VISITORS.name, _stored_numbers_as_rows(workspace_id, number_by_visitor_id.values())
    )
    create_weak_id_events_table(workspace_id, "visitor_id", runner)
    newest = (WEAK_ID_EVENTS.c.timestamp.desc(), WEAK_ID_EVENTS.c.seq.desc())
    place = sa.func.row_number().over(partition_by=WEAK_ID_EVENTS.c.weak_id, order_by=newest).label("place")
    ranked = sa.select(WEAK_ID_EVENTS.c.weak_id, WEAK_ID_EVENTS.c.person_no, place).subquery("latest")
    return dict(runner.fetch_rows(sa.select(ranked.c.weak_id, ranked.c.person_no).where(ranked.c.place == 1)))


def _rows_with_listed_id(workspace_id: UUID, column: Any, *further: Expression) -> sa.Select[Any]:
    conditions = (column.table.c.workspace_id == workspace_id, is_in_table(_ID_LIST.name, column))
    return sa.select(column, *further).where(*conditions).distinct()


def _stored_numbers_as_rows(workspace_id: UUID, numbers: Iterable[int]) -> sa.Select[Any]:
    """Selects the given numbers as rows."""
    is_listed = fn.InValues(
        ID_NUMBERS.c.number, *(sa.literal(number, IdNumber()) for number in sorted(set(numbers)))
    )
    return sa.select(ID_NUMBERS.c.number).where(ID_NUMBERS.c.workspace_id == workspace_id, is_listed)
