"""What the conversions and the money of a few persons follow from, without a look at those of all others.

An event is no conversion when the same order had one a week before, whoever it was of.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.kin import DEEDS, THEIRS
from plugins.events_sql.prepared import NAMES, START, WORKSPACE, source, told
from plugins.events_sql.relations import needed, with_repeats
from plugins.events_sql.stitching import among_few, visits_of
from plugins.events_sql.tables import EVENTS
from service_core.plugin import Scan

_OWN: Final = sa.table("own_deeds", sa.column("order_id", sa.Text))


def keep_deeds(scan: Scan, used: frozenset[str], reader: Reader) -> None:
    """Keep what `THEIRS` did as `kin.DEEDS`, and what others did under the same orders.

    Args:
        scan: workspace, instants and what converts.
        used: columns that conversions are asked for.
    """
    names = sorted({*needed(used), "is_test"})
    values = told(scan, with_repeats(scan.span))
    own, shared = (source(_deeds, others, *names).under("deed", **values) for others in (False, True))
    columns: list[sa.ColumnElement[Any]] = [sa.column(name) for name in names]
    reader.keep(_OWN.name, sa.select(*(own.c[name] for name in names)))
    theirs = sa.select(*columns).select_from(_OWN)
    reader.keep(DEEDS.name, sa.union_all(theirs, sa.select(*(shared.c[name] for name in names))))


def _deeds(others: bool, *names: str) -> sa.Select[Any]:
    """Events that may convert or that move money: those of `THEIRS`, or those of others with an order of these."""
    c = EVENTS.c
    found = sa.select(*(c[name] for name in names)).where(c.workspace_id == WORKSPACE, c.timestamp >= START)
    found = found.where(sa.or_(c.revenue.is_not(None), fn.Listed(c.event_name, NAMES)))
    theirs = among_few(visits_of(THEIRS.name), c.session_no)
    if not others:
        return found.where(theirs)
    orders = sa.select(_OWN.c.order_id).where(_OWN.c.order_id.is_not(None))
    return found.where(c.order_id.in_(orders), sa.not_(theirs))
