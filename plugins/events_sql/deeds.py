"""What the conversions and the money of a few persons follow from, without a look at those of all others.

An event is no conversion when the same order had one a week before, whoever it was of.
"""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.kin import DEEDS, THEIR_EVENTS
from plugins.events_sql.prepared import NAMES, START, WORKSPACE, source, told
from plugins.events_sql.relations import needed, with_repeats
from plugins.events_sql.tables import EVENTS
from service_core.plugin import Scan


def keep_deeds(scan: Scan, used: frozenset[str], reader: Reader) -> None:
    """Keep what the persons asked for did as `kin.DEEDS`, and what others did under the same orders.

    Args:
        scan: workspace, instants and what converts.
        used: columns that conversions are asked for; `kin.THEIR_EVENTS` has them.
    """
    names = sorted({*needed(used), "is_test"})
    deeds = source(_deeds, *names).under("deed", **told(scan, with_repeats(scan.span)))
    reader.keep(DEEDS.name, sa.select(*deeds.c))


def _deeds(*names: str) -> sa.CompoundSelect[Any]:
    """Events that may convert or that move money: those of the persons, and those of others with an order of these."""
    own, c = THEIR_EVENTS.c, EVENTS.c
    theirs = sa.select(*(own[name] for name in names), own.person_no).where(*_moves(own))
    orders = sa.select(own.order_id).where(own.order_id.is_not(None))
    known = sa.tuple_(c.timestamp, c.seq).in_(sa.select(own.timestamp, own.seq))
    nobody = sa.cast(sa.null(), own.person_no.type)
    same = fn.Beside(sa.and_(c.workspace_id == WORKSPACE, *_moves(c)), c.order_id)
    others = sa.select(*(c[name] for name in names), nobody.label("person_no")).where(
        same, c.order_id.in_(orders), sa.not_(known)
    )
    return sa.union_all(theirs, others)


def _moves(c: Any) -> list[sa.ColumnElement[bool]]:
    return [c.timestamp >= START, sa.or_(c.revenue.is_not(None), fn.Listed(c.event_name, NAMES))]
