"""What the conversions and the money of a few persons follow from, without a look at those of all others.

An event is no conversion when the same order had one a week before, whoever it was of.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.kin import DEEDS, THEIR_EVENTS
from plugins.events_sql.orders import ORDER_IDS
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
    known = sa.tuple_(c.timestamp, c.seq).in_(sa.select(own.timestamp, own.seq))
    nobody = sa.cast(sa.null(), own.person_no.type)
    others = sa.select(*(c[name] for name in names), nobody.label("person_no")).where(sa.not_(known))
    return sa.union_all(theirs, *(others.where(*one) for one in _of_their_orders(c)))


def _of_their_orders(c: Any) -> Iterator[list[sa.ColumnElement[bool]]]:
    """Conditions, of which one at most is met by an event of an order of theirs, by each of its ids."""
    own = THEIR_EVENTS.c
    ids = sa.union(*(sa.select(own[name]).where(own[name].is_not(None)) for name in ORDER_IDS)).subquery()
    among = [sa.func.coalesce(c[name].in_(sa.select(*ids.c)), sa.false()) for name in ORDER_IDS]
    for place, name in enumerate(ORDER_IDS):
        beside = sa.and_(c.workspace_id == WORKSPACE, *_moves(c), *map(sa.not_, among[:place]))
        yield [fn.Beside(beside, c[name]), c[name].in_(sa.select(*ids.c))]


def _moves(c: Any) -> list[sa.ColumnElement[bool]]:
    return [c.timestamp >= START, sa.or_(c.revenue.is_not(None), fn.Listed(c.event_name, NAMES))]
