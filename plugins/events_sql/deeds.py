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

    Args:
        scan: workspace, instants and what converts.
        used: columns that conversions are asked for; `kin.THEIR_EVENTS` has them.
    """
    names = sorted({*needed(used), "is_test"})
    values = told(scan, with_repeats(scan.span))
    reader.keep(_ORDERS.name, built(_their_orders))
    for id_ in ORDER_IDS:
        found = source(_others, id_, *names).under("other", **values)
        reader.keep(_by(id_), sa.select(*found.c))
    deeds = source(_deeds, *names).under("deed", **values)
    reader.keep(DEEDS.name, sa.select(*deeds.c))


def _by(id_: str) -> str:
    return f"others_by_{id_}"


def _their_orders() -> sa.CompoundSelect[Any]:
    own = THEIR_EVENTS.c
    return sa.union(*(sa.select(own[id_].label("id")).where(own[id_].is_not(None)) for id_ in ORDER_IDS))


def _others(id_: str, *names: str) -> sa.Select[Any]:
    """Events of others that have an id of theirs in one column, and may convert or move money."""
    own, c = THEIR_EVENTS.c, EVENTS.c
    known = sa.tuple_(c.timestamp, c.seq).in_(sa.select(own.timestamp, own.seq))
    beside = fn.Beside(sa.and_(c.workspace_id == WORKSPACE, *_moves(c)), c[id_])
    return sa.select(*(c[name] for name in names)).where(
        beside, c[id_].in_(sa.select(_ORDERS.c.id)), sa.not_(known)
    )


def _deeds(*names: str) -> sa.CompoundSelect[Any]:
    """Events that may convert or that move money: those of the persons, and those of others with an order of these."""
    own = THEIR_EVENTS.c
    theirs = sa.select(*(own[name] for name in names), own.person_no).where(*_moves(own))
    nobody = sa.cast(sa.null(), own.person_no.type)
    kept = (sa.table(_by(id_), *(sa.column(name, own[name].type) for name in names)) for id_ in ORDER_IDS)
    others = sa.union(*(sa.select(*table.c) for table in kept)).subquery("others")
    return sa.union_all(theirs, sa.select(*others.c, nobody))


def _moves(c: Any) -> list[sa.ColumnElement[bool]]:
    return [c.timestamp >= START, sa.or_(c.revenue.is_not(None), fn.Listed(c.event_name, NAMES))]
