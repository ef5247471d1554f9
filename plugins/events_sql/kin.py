"""Whose visitors and whose persons hang together, so that a few persons are read without all others.

Each is a table of one column ``no``, kept for the question. They may hold too many: exact is who an
event belongs to (`stitching`), this only says where not to look.
"""

from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.statements import built
from plugins.events_sql.stitching import visits_of
from plugins.events_sql.tables import CANDIDATES, EVENTS, OWNERS, PERSONS, SESSIONS

THEIRS: Final = sa.table("theirs", sa.column("no", sa.BigInteger))
"""Visitors whose events may be those of the persons asked for."""

NEAR: Final = sa.table("near", sa.column("no", sa.BigInteger))
"""Visitors of everyone who ever shared one of those: they have a say in what is a touch there."""

DEEDS: Final = sa.table("deeds", *(sa.column(c.name, c.type) for c in EVENTS.columns))
"""What the conversions and the money of `THEIRS` follow from (`deeds`)."""

_SHARING: Final = sa.table("sharing", sa.column("no", sa.BigInteger))


def keep_theirs(workspace_id: UUID, persons: sa.Select[Any], reader: Reader) -> None:
    """Keep the visitors of some persons, given by number, and their sessions."""
    keep_visitors(workspace_id, _visitors(workspace_id, persons), reader)


def keep_visitors(
    workspace_id: UUID, visitors: sa.Select[Any] | sa.CompoundSelect[Any], reader: Reader
) -> None:
    """Keep some visitors as `THEIRS`, and their sessions."""
    reader.keep(THEIRS.name, visitors)
    own = (SESSIONS.c.workspace_id == workspace_id, of(THEIRS, SESSIONS.c.visitor_no))
    reader.keep(visits_of(THEIRS.name), sa.select(SESSIONS.c.session_no.label("no")).where(*own))


def keep_near(workspace_id: UUID, reader: Reader) -> None:
    """Keep who has a say in the touches of `THEIRS`: mostly nobody else, which needs no look at all events."""
    reader.keep(_SHARING.name, built(_sharing))
    others = reader.rows(built(_others))
    visitors = _visitors(workspace_id, sa.select(_SHARING.c.no)) if others else built(_theirs)
    reader.keep(NEAR.name, visitors)


def _theirs() -> sa.Select[Any]:
    return sa.select(THEIRS.c.no)


def of(table: sa.TableClause, visitor_no: Expression) -> Expression:
    """Whether a visitor is in one of the tables."""
    return visitor_no.in_(sa.select(table.c.no))


def _visitors(workspace_id: UUID, persons: sa.Select[Any]) -> sa.CompoundSelect[Any]:
    asked = persons.cte("asked")
    asked_no = sa.select(next(iter(asked.c)).label("no"))
    parts = sa.select(PERSONS.c.no).where(PERSONS.c.person_no.in_(asked_no))
    ids = sa.union(asked_no, parts).cte("ids_of")
    own = sa.select(ids.c.no)
    owned = sa.select(OWNERS.c.visitor_no).where(OWNERS.c.strong_no.in_(own))
    named = sa.select(EVENTS.c.visitor_no).where(
        EVENTS.c.workspace_id == workspace_id, EVENTS.c.strong_no.in_(own)
    )
    return sa.union(own, owned, named)


def _sharing() -> sa.CompoundSelect[Any]:
    """Every person that ever had an event of `THEIRS`."""
    theirs = sa.select(THEIRS.c.no)
    owners = sa.select(OWNERS.c.strong_no).where(of(THEIRS, OWNERS.c.visitor_no))
    named = sa.select(CANDIDATES.c.strong_no).where(
        of(THEIRS, CANDIDATES.c.visitor_no), CANDIDATES.c.strong_no.is_not(None)
    )
    ids = sa.union(theirs, owners, named).cte("ids_near")
    parts = sa.select(PERSONS.c.person_no).where(PERSONS.c.no.in_(sa.select(ids.c.no)))
    return sa.union(sa.select(ids.c.no), parts)


def _others() -> sa.Select[Any]:
    """Someone among those, or a part of one, who is none of the persons that `THEIRS` was kept for."""
    sharing = sa.select(_SHARING.c.no)
    parts = sa.select(PERSONS.c.no).where(PERSONS.c.person_no.in_(sharing))
    found = sa.union_all(sharing, parts).subquery("found")
    return sa.select(found.c.no).where(sa.not_(of(THEIRS, found.c.no))).limit(1)
