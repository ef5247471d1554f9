"""Temporary tables of selected persons, their visitors and the persons related to them by a shared visitor.

They make it possible to read a few persons without all others. The tables of visitors and persons may include
too many; `identity_resolution` decides exactly who an event belongs to.
"""

from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.identity.identity_resolution import (
    is_in_table,
    is_session_of_visitors,
    joined_to_person,
)
from plugins.events_sql.schema.tables import EVENTS, PERSON_MERGES, VISITOR_ID_PAIRS, IdNumber
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import WORKSPACE, compiled_source

SELECTED_PERSONS: Final = sa.table("selected_persons", sa.column("number", IdNumber))
"""The persons that are read."""

SELECTED_VISITORS: Final = sa.table("selected_visitors", sa.column("number", IdNumber))
"""Visitors whose events may belong to them."""

RELATED_VISITORS: Final = sa.table("related_visitors", sa.column("number", IdNumber))
"""Visitors of all persons who ever shared one of these: their events decide what is a touch there."""

_EVENT_COLUMN_TYPES: Final = {**{c.name: c.type for c in EVENTS.columns}, "person_no": IdNumber()}
SELECTED_EVENTS: Final = sa.table(
    "selected_events", *(sa.column(name, kind) for name, kind in _EVENT_COLUMN_TYPES.items())
)
"""The events of the selected persons with their person, and the columns that the read needs."""

ORDER_EVENTS: Final = sa.table(
    "order_events", *(sa.column(name, kind) for name, kind in _EVENT_COLUMN_TYPES.items())
)
"""Events that conversions and payments are computed from (`order_events`); events of others have no person."""

_SHARING_PERSONS: Final = sa.table("sharing_persons", sa.column("number", IdNumber))


def create_selected_visitor_tables(
    workspace_id: UUID, person_numbers: sa.Select[Any], runner: StatementRunner
) -> None:
    """Creates the tables of the selected persons, given by number, and of their visitors."""
    runner.create_temp_table(SELECTED_PERSONS.name, person_numbers)
    _create_visitors_table(SELECTED_VISITORS, SELECTED_PERSONS, workspace_id, runner)


def create_selected_events_table(
    workspace_id: UUID, column_names: tuple[str, ...], runner: StatementRunner
) -> None:
    """Creates the table of the selected persons' events; their visitors must be selected before.

    Args:
        workspace_id: the workspace of the persons.
        column_names: event columns to include.
        runner: runs the statements of the read.
    """
    events = compiled_source(_selected_events_query, *column_names).as_subquery(
        "source_rows", workspace=workspace_id
    )
    runner.create_temp_table(SELECTED_EVENTS.name, sa.select(*events.c))


def create_related_visitors_table(workspace_id: UUID, runner: StatementRunner) -> None:
    """Creates `RELATED_VISITORS`; usually nobody shares a visitor, which is found without reading all events."""
    runner.create_temp_table(_SHARING_PERSONS.name, deferred_statement(_persons_sharing_selected_visitors))
    if runner.fetch_rows(deferred_statement(_any_sharing_person_not_selected)):
        _create_visitors_table(RELATED_VISITORS, _SHARING_PERSONS, workspace_id, runner)
    else:
        runner.create_temp_table(RELATED_VISITORS.name, deferred_statement(_selected_visitor_numbers))


def _create_visitors_table(
    table: sa.TableClause, persons_table: sa.TableClause, workspace_id: UUID, runner: StatementRunner
) -> None:
    visitors = compiled_source(_ids_and_visitors_of_persons, persons_table.name).as_subquery(
        "source_rows", workspace=workspace_id
    )
    runner.create_temp_table(table.name, sa.select(*visitors.c))


def _selected_visitor_numbers() -> sa.Select[Any]:
    return sa.select(SELECTED_VISITORS.c.number)


def _selected_events_query(*column_names: str) -> sa.Select[Any]:
    joined, person = joined_to_person(EVENTS, SELECTED_VISITORS.name)
    c = EVENTS.c
    conditions = (
        is_session_of_visitors(SELECTED_VISITORS.name, c.session_no),
        is_in_table(SELECTED_PERSONS.name, person),
    )
    query = sa.select(*(c[name] for name in column_names), person.label("person_no")).select_from(joined)
    return query.where(fn.RedundantCondition(c.workspace_id == WORKSPACE), *conditions)


def _ids_and_visitors_of_persons(persons_table: str) -> sa.CompoundSelect[Any]:
    selected = sa.select(sa.table(persons_table, sa.column("number", IdNumber)).c.number)
    parts = sa.select(PERSON_MERGES.c.number).where(PERSON_MERGES.c.person_no.in_(selected))
    ids = sa.select(sa.union(selected, parts).subquery("ids_of").c.number)
    return sa.union(
        ids, sa.select(VISITOR_ID_PAIRS.c.visitor_no).where(VISITOR_ID_PAIRS.c.strong_no.in_(ids))
    )


def _persons_sharing_selected_visitors() -> sa.CompoundSelect[Any]:
    """Selects every person that ever had an event of a selected visitor."""
    selected = sa.select(SELECTED_VISITORS.c.number)
    strong_ids = sa.select(VISITOR_ID_PAIRS.c.strong_no).where(
        is_in_table(SELECTED_VISITORS.name, VISITOR_ID_PAIRS.c.visitor_no)
    )
    ids = sa.union(selected, strong_ids).cte("ids_near")
    parts = sa.select(PERSON_MERGES.c.person_no).where(PERSON_MERGES.c.number.in_(sa.select(ids.c.number)))
    return sa.union(sa.select(ids.c.number), parts)


def _any_sharing_person_not_selected() -> sa.Select[Any]:
    """Selects a person among those, or a person merged into one, who is not among the selected."""
    sharing = sa.select(_SHARING_PERSONS.c.number)
    parts = sa.select(PERSON_MERGES.c.number).where(PERSON_MERGES.c.person_no.in_(sharing))
    persons = sa.union_all(sharing, parts).subquery("source_rows")
    return (
        sa.select(persons.c.number)
        .where(sa.not_(is_in_table(SELECTED_VISITORS.name, persons.c.number)))
        .limit(1)
    )
