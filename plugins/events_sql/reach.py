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
    unit: Any, touch: Any, scan: Scan, window: timedelta, asked: list[str], *carried: str
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


def _told(unit: Any, touch: Any, scan: Scan, asked: list[str]) -> sa.Subquery:
    """Units whose person has no touch by then, with all that was told up to them; ``newest`` is 1 for the last."""
    untouched = _untouched(unit, touch)
    said = _said(scan, asked, untouched)
    up_to = sa.or_(
        said.c.timestamp < untouched.c.timestamp,
        sa.and_(said.c.timestamp == untouched.c.timestamp, said.c.seq <= untouched.c.seq),
    )
    heard = untouched.join(said, sa.and_(said.c.person_no == untouched.c.person_no, up_to))
    latest = (said.c.timestamp.desc(), said.c.seq.desc())
    newest = sa.func.rank().over(partition_by=untouched.c.unit, order_by=latest).label("newest")
    columns = [said.c[name] for name in dict.fromkeys(("at", "place_seq", "channel", *asked))]
    return sa.select(untouched.c.unit, *columns, newest).select_from(heard).subquery("told_up_to")


def _untouched(unit: Any, touch: Any) -> sa.CTE:
    """Units whose person has no touch of its own by then."""
    first = sa.select(touch.c.person_no, sa.func.min(touch.c.at).label("at"))
    first_touch = first.group_by(touch.c.person_no).subquery("first_touch")
    joined = unit.outerjoin(first_touch, first_touch.c.person_no == unit.c.person_no)
    columns = [unit.c[name] for name in ("unit", "person_no", "timestamp", "seq")]
    later = sa.or_(first_touch.c.at.is_(None), first_touch.c.at > unit.c.timestamp)
    return sa.select(*columns).select_from(joined).where(later).cte("untouched")


def _said(scan: Scan, asked: list[str], untouched: sa.CTE) -> sa.Subquery:
    """What was told of the persons of some units."""
    source, person_no = person_of(TOLD, scan)
    kept = {name: f"own_{side}" for name, side in CLASSIFIED.items()}
    columns = [TOLD.c[kept.get(name, name)].label(name) for name in dict.fromkeys(("channel", *asked))]
    place = (TOLD.c.seq * 2 + TOLD.c.place).label("place_seq")
    own = (TOLD.c.timestamp, TOLD.c.seq, TOLD.c.touched_at.label("at"), place)
    found = sa.select(person_no.label("person_no"), *own, *columns).select_from(source)
    theirs = person_no.in_(sa.select(untouched.c.person_no))
    return found.where(TOLD.c.workspace_id == scan.workspace_id, theirs).subquery("said")
