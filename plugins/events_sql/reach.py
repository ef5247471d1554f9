"""The path of every conversion: the touches that count for it (semantics 8.3, 8.7; `insight.touches`).

A person without a touch of its own up to the conversion has those its client told. They are few,
so what they need beside is looked up for their persons alone.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.periods import micros_of
from plugins.events_sql.stitching import person_of
from plugins.events_sql.tables import TOLD
from plugins.events_sql.touches import CLASSIFIED, DIRECT
from service_core.plugin import Scan


def reached(
    unit: sa.CTE, touch: sa.CTE, scan: Scan, window: timedelta, columns: Iterable[str], *carried: str
) -> sa.Subquery:
    """Units with the touches in their window: ``unit``, ``touch_at``, ``touch_seq``, ``waited``, ``is_direct``.

    Args:
        unit: ``unit``, ``timestamp``, ``seq``, ``person_no`` of every conversion.
        touch: all touches of their persons (`touches.touches`).
        scan: the workspace.
        window: how long before a conversion a touch counts.
        columns: of the touch, named ``touch_*`` here.
        carried: columns of the unit that go with it.
    """
    asked = list(columns)
    own = [touch.c[name].label(f"touch_{name}") for name in ("at", "seq", *asked)]
    facts = (*(unit.c[name] for name in ("unit", *carried)), *own, _waited(unit, touch).label("waited"))
    met = sa.and_(touch.c.person_no == unit.c.person_no, *_counts(unit, touch, window))
    seen = sa.select(*facts, touch.c.is_direct).select_from(unit.join(touch, met))
    return sa.union_all(seen, by_told(unit, touch, scan, window, asked, *carried)).subquery("reached")


def by_told(
    unit: sa.CTE, touch: sa.CTE, scan: Scan, window: timedelta, asked: list[str], *carried: str
) -> sa.Select[Any]:
    """The part of `reached` that clients told: where a person has no touch of its own by then."""
    told = _told(unit, touch, scan, asked)
    said = [told.c[name].label(f"touch_{name}") for name in ("at", "place_seq", *asked)]
    facts = (*(unit.c[name] for name in ("unit", *carried)), *said, _waited(unit, told).label("waited"))
    met = sa.and_(told.c.unit == unit.c.unit, told.c.newest == 1, *_counts(unit, told, window))
    direct = (told.c.channel == DIRECT).label("is_direct")
    return sa.select(*facts, direct).select_from(unit.join(told, met))


def _waited(unit: Any, touch: Any) -> Expression:
    return fn.Micros(unit.c.timestamp) - fn.Micros(touch.c.at)


def _counts(unit: Any, touch: Any, window: timedelta) -> list[Expression]:
    return [touch.c.at <= unit.c.timestamp, _waited(unit, touch) <= sa.literal(micros_of(window))]


def _told(unit: sa.CTE, touch: sa.CTE, scan: Scan, asked: list[str]) -> sa.Subquery:
    """Units whose person has no touch by then, with all that was told up to them; ``newest`` is 1 for the last."""
    said = _said(scan, asked)
    first = (
        sa.select(touch.c.person_no, sa.func.min(touch.c.at).label("at"))
        .where(touch.c.person_no.in_(sa.select(said.c.person_no)))
        .group_by(touch.c.person_no)
        .subquery("first")
    )
    up_to = sa.or_(
        said.c.timestamp < unit.c.timestamp,
        sa.and_(said.c.timestamp == unit.c.timestamp, said.c.seq <= unit.c.seq),
    )
    heard = unit.join(said, sa.and_(said.c.person_no == unit.c.person_no, up_to))
    latest = (said.c.timestamp.desc(), said.c.seq.desc())
    newest = sa.func.rank().over(partition_by=unit.c.unit, order_by=latest).label("newest")
    columns = [said.c[name] for name in dict.fromkeys(("at", "place_seq", "channel", *asked))]
    return (
        sa.select(unit.c.unit, *columns, newest)
        .select_from(heard.outerjoin(first, first.c.person_no == unit.c.person_no))
        .where(sa.or_(first.c.at.is_(None), first.c.at > unit.c.timestamp))
        .subquery("told_up_to")
    )


def _said(scan: Scan, asked: list[str]) -> sa.CTE:
    """What was told in a workspace, with the person it is about."""
    source, person_no = person_of(TOLD, scan)
    kept = {name: f"own_{side}" for name, side in CLASSIFIED.items()}
    columns = [TOLD.c[kept.get(name, name)].label(name) for name in dict.fromkeys(("channel", *asked))]
    place = (TOLD.c.seq * 2 + TOLD.c.place).label("place_seq")
    own = (TOLD.c.timestamp, TOLD.c.seq, TOLD.c.touched_at.label("at"), place)
    found = sa.select(person_no.label("person_no"), *own, *columns).select_from(source)
    return found.where(TOLD.c.workspace_id == scan.workspace_id).cte("said")
