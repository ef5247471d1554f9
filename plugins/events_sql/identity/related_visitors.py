"""Whose visitors and whose persons hang together, so that a few persons are read without all others.

Each is a table kept for the question. Visitors and persons there may be too many: exact is who an event
belongs to (`stitching`), they only say where not to look.
"""

from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred
from plugins.events_sql.identity.identity_resolution import is_in_table, is_session_of_visitors, with_person
from plugins.events_sql.schema.tables import EVENTS, PERSON_MERGES, VISITOR_ID_PAIRS, IdNumber
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import WORKSPACE, compiled_source

SELECTED_PERSONS: Final = sa.table("asked", sa.column("no", IdNumber))
"""The persons that are asked for."""

SELECTED_VISITORS: Final = sa.table("theirs", sa.column("no", IdNumber))
"""Visitors whose events may be theirs."""

RELATED_VISITORS: Final = sa.table("near", sa.column("no", IdNumber))
"""Visitors of everyone who ever shared one of those: they have a say in what is a touch there."""

_EVENT_COLUMN_TYPES: Final = {**{c.name: c.type for c in EVENTS.columns}, "person_no": IdNumber()}
SELECTED_EVENTS: Final = sa.table("their_events", *(sa.column(*one) for one in _EVENT_COLUMN_TYPES.items()))
"""Every event of theirs with its person, and the columns that the question needs."""

ORDER_EVENTS: Final = sa.table("deeds", *(sa.column(*one) for one in _EVENT_COLUMN_TYPES.items()))
"""What their conversions and their money follow from (`deeds`); events of others have no person."""

_SHARING_PERSONS: Final = sa.table("sharing", sa.column("no", IdNumber))


def create_selected_visitors(workspace_id: UUID, persons: sa.Select[Any], reader: StatementRunner) -> None:
    """Keep some persons, given by number, and their visitors."""
    reader.create_temp_table(SELECTED_PERSONS.name, persons)
    _create_visitors_table(SELECTED_VISITORS, SELECTED_PERSONS, workspace_id, reader)


def create_selected_events(workspace_id: UUID, names: tuple[str, ...], reader: StatementRunner) -> None:
    """Keep the events of the persons, once their visitors are kept.

    Args:
        workspace_id: whose persons they are.
        names: columns of an event that are asked for.
        reader: of the question.
    """
    found = compiled_source(_selected_events_query, *names).as_subquery("found", workspace=workspace_id)
    reader.create_temp_table(SELECTED_EVENTS.name, sa.select(*found.c))


def create_related_visitors(workspace_id: UUID, reader: StatementRunner) -> None:
    """Keep who has a say in the touches of `THEIRS`: mostly nobody else, which needs no look at all events."""
    reader.create_temp_table(_SHARING_PERSONS.name, deferred(_persons_sharing_visitors))
    if reader.fetch_rows(deferred(_any_other_person)):
        _create_visitors_table(RELATED_VISITORS, _SHARING_PERSONS, workspace_id, reader)
    else:
        reader.create_temp_table(RELATED_VISITORS.name, deferred(_selected_visitor_numbers))


def _create_visitors_table(
    table: sa.TableClause, persons: sa.TableClause, workspace_id: UUID, reader: StatementRunner
) -> None:
    found = compiled_source(_visitors_of_persons, persons.name).as_subquery("found", workspace=workspace_id)
    reader.create_temp_table(table.name, sa.select(*found.c))


def _selected_visitor_numbers() -> sa.Select[Any]:
    return sa.select(SELECTED_VISITORS.c.no)


def _selected_events_query(*names: str) -> sa.Select[Any]:
    joined, person = with_person(EVENTS, SELECTED_VISITORS.name)
    c = EVENTS.c
    theirs = (
        is_session_of_visitors(SELECTED_VISITORS.name, c.session_no),
        is_in_table(SELECTED_PERSONS.name, person),
    )
    found = sa.select(*(c[name] for name in names), person.label("person_no")).select_from(joined)
    return found.where(fn.RedundantCondition(c.workspace_id == WORKSPACE), *theirs)


def _visitors_of_persons(persons: str) -> sa.CompoundSelect[Any]:
    asked = sa.select(sa.table(persons, sa.column("no", IdNumber)).c.no)
    parts = sa.select(PERSON_MERGES.c.no).where(PERSON_MERGES.c.person_no.in_(asked))
    own = sa.select(sa.union(asked, parts).subquery("ids_of").c.no)
    return sa.union(
        own, sa.select(VISITOR_ID_PAIRS.c.visitor_no).where(VISITOR_ID_PAIRS.c.strong_no.in_(own))
    )


def _persons_sharing_visitors() -> sa.CompoundSelect[Any]:
    """Every person that ever had an event of `THEIRS`."""
    theirs = sa.select(SELECTED_VISITORS.c.no)
    named = sa.select(VISITOR_ID_PAIRS.c.strong_no).where(
        is_in_table(SELECTED_VISITORS.name, VISITOR_ID_PAIRS.c.visitor_no)
    )
    ids = sa.union(theirs, named).cte("ids_near")
    parts = sa.select(PERSON_MERGES.c.person_no).where(PERSON_MERGES.c.no.in_(sa.select(ids.c.no)))
    return sa.union(sa.select(ids.c.no), parts)


def _any_other_person() -> sa.Select[Any]:
    """Someone among those, or a part of one, who is none of the persons that `THEIRS` was kept for."""
    sharing = sa.select(_SHARING_PERSONS.c.no)
    parts = sa.select(PERSON_MERGES.c.no).where(PERSON_MERGES.c.person_no.in_(sharing))
    found = sa.union_all(sharing, parts).subquery("found")
    return sa.select(found.c.no).where(sa.not_(is_in_table(SELECTED_VISITORS.name, found.c.no))).limit(1)
