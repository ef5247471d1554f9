"""The path of every conversion: the touches that count for it (semantics 8.3, 8.7; `insight.touches`).

A person without a touch of its own up to the conversion has those its client told. They are few,
so what they need beside is looked up for their persons alone.
"""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.periods import micros_of
from plugins.events_sql.prepared import WINDOW, WORKSPACE, Derived, source
from plugins.events_sql.stitching import person_of
from plugins.events_sql.tables import TOLD
from plugins.events_sql.touches import CLASSIFIED, DIRECT, touches_named
from plugins.events_sql.units import UNIT
from service_core.plugin import Scan


def reached(unit: sa.CTE, touch: sa.CTE, scan: Scan, window: timedelta, *shape: Any) -> Derived:
    """Units with the touches in their window, see `seen`."""
    values = {"workspace": scan.workspace_id, "within": micros_of(window)}
    return source(seen, unit.name, touch.name, *shape).under("reached", *read_by(unit, touch), **values)


def read_by(unit: sa.CTE | sa.TableClause, touch: sa.CTE | sa.TableClause) -> tuple[sa.FromClause, ...]:
    """The common tables that `seen` reads."""
    names = unit.name, touch.name
    return unit, touch, source(_untouched, *names).cte("untouched", unit, touch)


def seen(
    unit: str, touch: str, asked: tuple[str, ...], carried: tuple[str, ...] = ()
) -> sa.CompoundSelect[Any]:
    """Units with the touches in their window: ``unit``, ``touch_at``, ``touch_seq``, ``waited``, ``is_direct``.

    Args:
        unit: name of the table with ``unit``, ``timestamp``, ``seq``, ``person_no`` of every conversion.
        touch: name of the one with all touches of their persons (`touches.touches`).
        asked: columns of the touch, named ``touch_*`` here.
        carried: columns of the unit that go with it.
    """
    units, own = _units(unit, carried), touches_named(touch)
    columns = [own.c[name].label(f"touch_{name}") for name in ("at", "seq", *asked)]
    facts = (*(units.c[name] for name in ("unit", *carried)), *columns, _waited(units, own).label("waited"))
    met = sa.and_(own.c.person_no == units.c.person_no, *_counts(units, own))
    found = sa.select(*facts, own.c.is_direct).select_from(units.join(own, met))
    return sa.union_all(found, by_told(unit, asked, carried))


def by_told(unit: str, asked: tuple[str, ...], carried: tuple[str, ...] = ()) -> sa.Select[Any]:
    """The part of `seen` that clients told: where a person has no touch of its own by then."""
    units, told = _units(unit, carried), _told(asked)
    said = [told.c[name].label(f"touch_{name}") for name in ("at", "place_seq", *asked)]
    facts = (*(units.c[name] for name in ("unit", *carried)), *said, _waited(units, told).label("waited"))
    met = sa.and_(told.c.unit == units.c.unit, told.c.newest == 1, *_counts(units, told))
    direct = (told.c.channel == DIRECT).label("is_direct")
    return sa.select(*facts, direct).select_from(units.join(told, met))


def _units(name: str, carried: tuple[str, ...] = ()) -> sa.TableClause:
    columns = ("unit", "timestamp", "seq", "person_no", *carried)
    return sa.table(name, *(sa.column(one, UNIT.c[one].type) for one in columns))


def _waited(unit: Any, touch: Any) -> Expression:
    return fn.Micros(unit.c.timestamp) - fn.Micros(touch.c["at"])


def _counts(unit: Any, touch: Any) -> list[Expression]:
    return [touch.c["at"] <= unit.c.timestamp, _waited(unit, touch) <= WINDOW]


def _told(asked: tuple[str, ...]) -> sa.Subquery:
    """Units whose person has no touch by then, with all that was told up to them; ``newest`` is 1 for the last."""
    untouched = _units("untouched")
    said = _said(asked, untouched)
    up_to = sa.or_(
        said.c.timestamp < untouched.c.timestamp,
        sa.and_(said.c.timestamp == untouched.c.timestamp, said.c.seq <= untouched.c.seq),
    )
    heard = untouched.join(said, sa.and_(said.c.person_no == untouched.c.person_no, up_to))
    latest = (said.c.timestamp.desc(), said.c.seq.desc())
    newest = sa.func.rank().over(partition_by=untouched.c.unit, order_by=latest).label("newest")
    columns = [said.c[name] for name in dict.fromkeys(("at", "place_seq", "channel", *asked))]
    return sa.select(untouched.c.unit, *columns, newest).select_from(heard).subquery("told_up_to")


def _untouched(unit: str, touch: str) -> sa.Select[Any]:
    """Units whose person has no touch of its own by then."""
    units, own = _units(unit), touches_named(touch)
    first = sa.select(own.c.person_no, sa.func.min(own.c["at"]).label("at"))
    first_touch = first.group_by(own.c.person_no).subquery("first_touch")
    joined = units.outerjoin(first_touch, first_touch.c.person_no == units.c.person_no)
    columns = [units.c[name] for name in ("unit", "person_no", "timestamp", "seq")]
    later = sa.or_(first_touch.c["at"].is_(None), first_touch.c["at"] > units.c.timestamp)
    return sa.select(*columns).select_from(joined).where(later)


def _said(asked: tuple[str, ...], untouched: sa.TableClause) -> sa.Subquery:
    """What was told of the persons of some units."""
    joined, person_no = person_of(TOLD)
    kept = {name: f"own_{side}" for name, side in CLASSIFIED.items()}
    columns = [TOLD.c[kept.get(name, name)].label(name) for name in dict.fromkeys(("channel", *asked))]
    place = (TOLD.c.seq * 2 + TOLD.c.place).label("place_seq")
    own = (TOLD.c.timestamp, TOLD.c.seq, TOLD.c.touched_at.label("at"), place)
    found = sa.select(person_no.label("person_no"), *own, *columns).select_from(joined)
    theirs = person_no.in_(sa.select(untouched.c.person_no))
    return found.where(TOLD.c.workspace_id == WORKSPACE, theirs).subquery("said")
