"""What the conversions and the money of a few persons follow from, without a look at those of all others.

An event is no conversion when the same order had one a week before, whoever it was of.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.kin import DEEDS, THEIR_EVENTS
from plugins.events_sql.orders import ORDER_IDS
from plugins.events_sql.prepared import NAMES, START, WORKSPACE, source, told
from plugins.events_sql.relations import needed, with_repeats
from plugins.events_sql.statements import built
from plugins.events_sql.tables import EVENTS
from service_core.plugin import Scan

_ORDERS: Final = sa.table("their_orders", sa.column("id", sa.Text))
"""What the orders of the persons are known by."""


def keep_deeds(scan: Scan, used: frozenset[str], reader: Reader) -> None:
    """Keep what the persons asked for did as `kin.DEEDS`, and what others did under the same orders.

    Each id of an order is looked for by itself: a look at all three would read the table once, not its indexes.
    Mostly nobody else has one of these, and then there is little to keep.

    Args:
        scan: workspace, instants and what converts.
        used: columns that conversions are asked for; `kin.THEIR_EVENTS` has them.
    """
    names = sorted({*needed(used), "is_test"})
    values = told(scan, with_repeats(scan.span))
    reader.keep(_ORDERS.name, built(_their_orders))
    other = source(_of_others, "seq").under("other", **values)
    has_others = bool(reader.rows(sa.select(other.c.seq).limit(1)))
    deeds = source(_deeds, has_others, *names).under("deed", **values)
    reader.keep(DEEDS.name, sa.select(*deeds.c))


def _their_orders() -> sa.CompoundSelect[Any]:
    own = THEIR_EVENTS.c
    return sa.union(*(sa.select(own[id_].label("id")).where(own[id_].is_not(None)) for id_ in ORDER_IDS))


def _of_others(*names: str) -> sa.CompoundSelect[Any]:
    """Events of others that have an id of theirs, and may convert or move money; once for each such id."""
    return sa.union_all(*(_known_by(id_, *names) for id_ in ORDER_IDS))


def _known_by(id_: str, *names: str) -> sa.Select[Any]:
    own, c = THEIR_EVENTS.c, EVENTS.c
    known = sa.tuple_(c.timestamp, c.seq).in_(sa.select(own.timestamp, own.seq))
    beside = fn.Beside(sa.and_(c.workspace_id == WORKSPACE, *_moves(c)), c[id_])
    return sa.select(*(c[name] for name in names)).where(
        beside, c[id_].in_(sa.select(_ORDERS.c.id)), sa.not_(known)
    )


def _deeds(has_others: bool, *names: str) -> sa.Select[Any] | sa.CompoundSelect[Any]:
    """Events that may convert or that move money: those of the persons, and those of others with an order of these."""
    own = THEIR_EVENTS.c
    theirs = sa.select(*(own[name] for name in names), own.person_no).where(*_moves(own))
    if not has_others:
        return theirs
    others = _of_others(*names).subquery("others")
    nobody = sa.cast(sa.null(), own.person_no.type)
    return sa.union_all(theirs, sa.select(*others.c, nobody).distinct())


def _moves(c: Any) -> list[sa.ColumnElement[bool]]:
    return [c.timestamp >= START, sa.or_(c.revenue.is_not(None), fn.Listed(c.event_name, NAMES))]
