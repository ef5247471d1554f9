"""Whose visitors and whose persons hang together, so that a few persons are read without all others.

Each is a table kept for the question. Visitors and persons there may be too many: exact is who an event
belongs to (`stitching`), they only say where not to look.
"""

from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.prepared import WORKSPACE, source
from plugins.events_sql.statements import built
from plugins.events_sql.stitching import among_few, on_visits_of, person_of
from plugins.events_sql.tables import EVENTS, KIN, PERSONS, Number

ASKED: Final = sa.table("asked", sa.column("no", Number))
"""The persons that are asked for."""

THEIRS: Final = sa.table("theirs", sa.column("no", Number))
"""Visitors whose events may be theirs."""

NEAR: Final = sa.table("near", sa.column("no", Number))
"""Visitors of everyone who ever shared one of those: they have a say in what is a touch there."""

_OF_EVENT: Final = {**{c.name: c.type for c in EVENTS.columns}, "person_no": Number()}
THEIR_EVENTS: Final = sa.table("their_events", *(sa.column(*one) for one in _OF_EVENT.items()))
"""Every event of theirs with its person, and the columns that the question needs."""

DEEDS: Final = sa.table("deeds", *(sa.column(*one) for one in _OF_EVENT.items()))
"""What their conversions and their money follow from (`deeds`); events of others have no person."""

_SHARING: Final = sa.table("sharing", sa.column("no", Number))


def keep_theirs(workspace_id: UUID, persons: sa.Select[Any], reader: Reader) -> None:
    """Keep some persons, given by number, and their visitors."""
    reader.keep(ASKED.name, persons)
    _keep_visitors(THEIRS, ASKED, workspace_id, reader)


def keep_events(workspace_id: UUID, names: tuple[str, ...], reader: Reader) -> None:
    """Keep the events of the persons, once their visitors are kept.

    Args:
        workspace_id: whose persons they are.
        names: columns of an event that are asked for.
        reader: of the question.
    """
    found = source(_events, *names).under("found", workspace=workspace_id)
    reader.keep(THEIR_EVENTS.name, sa.select(*found.c))


def keep_near(workspace_id: UUID, reader: Reader) -> None:
    """Keep who has a say in the touches of `THEIRS`: mostly nobody else, which needs no look at all events."""
    reader.keep(_SHARING.name, built(_sharing))
    if reader.rows(built(_others)):
        _keep_visitors(NEAR, _SHARING, workspace_id, reader)
    else:
        reader.keep(NEAR.name, built(_theirs))


def _keep_visitors(
    table: sa.TableClause, persons: sa.TableClause, workspace_id: UUID, reader: Reader
) -> None:
    found = source(_visitors, persons.name).under("found", workspace=workspace_id)
    reader.keep(table.name, sa.select(*found.c))


def _theirs() -> sa.Select[Any]:
    return sa.select(THEIRS.c.no)


def _events(*names: str) -> sa.Select[Any]:
    joined, person = person_of(EVENTS, THEIRS.name)
    c = EVENTS.c
    theirs = (on_visits_of(THEIRS.name, c.session_no), among_few(ASKED.name, person))
    found = sa.select(*(c[name] for name in names), person.label("person_no")).select_from(joined)
    return found.where(fn.Implied(c.workspace_id == WORKSPACE), *theirs)


def _visitors(persons: str) -> sa.CompoundSelect[Any]:
    asked = sa.select(sa.table(persons, sa.column("no", Number)).c.no)
    parts = sa.select(PERSONS.c.no).where(PERSONS.c.person_no.in_(asked))
    own = sa.select(sa.union(asked, parts).subquery("ids_of").c.no)
    return sa.union(own, sa.select(KIN.c.visitor_no).where(KIN.c.strong_no.in_(own)))


def _sharing() -> sa.CompoundSelect[Any]:
    """Every person that ever had an event of `THEIRS`."""
    theirs = sa.select(THEIRS.c.no)
    named = sa.select(KIN.c.strong_no).where(among_few(THEIRS.name, KIN.c.visitor_no))
    ids = sa.union(theirs, named).cte("ids_near")
    parts = sa.select(PERSONS.c.person_no).where(PERSONS.c.no.in_(sa.select(ids.c.no)))
    return sa.union(sa.select(ids.c.no), parts)


def _others() -> sa.Select[Any]:
    """Someone among those, or a part of one, who is none of the persons that `THEIRS` was kept for."""
    sharing = sa.select(_SHARING.c.no)
    parts = sa.select(PERSONS.c.no).where(PERSONS.c.person_no.in_(sharing))
    found = sa.union_all(sharing, parts).subquery("found")
    return sa.select(found.c.no).where(sa.not_(among_few(THEIRS.name, found.c.no))).limit(1)
