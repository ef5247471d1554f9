"""The touch path of each conversion: the touches inside its attribution window.

A person without a touch of its own before the conversion has the touches that its client reported. They are
few, so their data is looked up for these persons only.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.attribution.credited_conversions import CREDITED_CONVERSIONS
from plugins.events_sql.attribution.touches import CLASSIFICATION_COLUMNS, DIRECT, touches_table
from plugins.events_sql.identity.identity_resolution import joined_to_person
from plugins.events_sql.schema.tables import REPORTED_TOUCHES
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import WINDOW, WORKSPACE, compiled_source
from plugins.events_sql.sql.conditions import Expression

UNTOUCHED: Final = sa.table(
    "untouched",
    *(
        sa.column(name, CREDITED_CONVERSIONS.c[name].type)
        for name in ("unit", "person_no", "timestamp", "seq")
    ),
)
"""Table or CTE of units whose person has no touch of its own up to the unit."""


def conversions_without_own_touch(conversions: sa.TableClause, touch: sa.CTE | sa.TableClause) -> sa.CTE:
    """Returns `UNTOUCHED` as a CTE: the units whose person has no touch of its own up to the unit."""
    source = compiled_source(_conversions_without_own_touch_query, conversions.name, touch.name)
    return source.as_cte(UNTOUCHED.name, touch)


def touches_in_window_query(
    conversion_table: str,
    touch_table: str,
    touch_columns: tuple[str, ...],
    conversion_columns: tuple[str, ...] = (),
) -> sa.CompoundSelect[Any]:
    """Selects units with the touches in their window, by the table `UNTOUCHED`: ``unit``, ``touch_at``, ``touch_seq``, ``waited``, ``is_direct``.

    Args:
        conversion_table: name of the table with ``unit``, ``timestamp``, ``seq``, ``person_no`` of every conversion.
        touch_table: name of the table with all touches of their persons in these windows.
        touch_columns: columns of the touch, named ``touch_*`` in the result.
        conversion_columns: columns of the unit to include.
    """
    units, touches = _conversions_table(conversion_table, conversion_columns), touches_table(touch_table)
    columns = [touches.c[name].label(f"touch_{name}") for name in ("at", "seq", *touch_columns)]
    facts = (
        *(units.c[name] for name in ("unit", *conversion_columns)),
        *columns,
        _time_to_convert(units, touches).label("waited"),
    )
    on_person = sa.and_(touches.c.person_no == units.c.person_no, *_is_in_window(units, touches))
    query = sa.select(*facts, touches.c.is_direct).select_from(units.join(touches, on_person))
    return sa.union_all(
        query, latest_reported_touches_in_window_query(conversion_table, touch_columns, conversion_columns)
    )


def latest_reported_touches_in_window_query(
    conversion_table: str, touch_columns: tuple[str, ...], conversion_columns: tuple[str, ...] = ()
) -> sa.Select[Any]:
    """Selects the part of `touches_in_window_query` that clients reported, for persons without a touch of their own before."""
    units, reported = (
        _conversions_table(conversion_table, conversion_columns),
        _ranked_reports_of_untouched_conversions(touch_columns),
    )
    touch_values = [reported.c[name].label(f"touch_{name}") for name in ("at", "place_seq", *touch_columns)]
    facts = (
        *(units.c[name] for name in ("unit", *conversion_columns)),
        *touch_values,
        _time_to_convert(units, reported).label("waited"),
    )
    on_unit = sa.and_(
        reported.c.unit == units.c.unit, reported.c.newest == 1, *_is_in_window(units, reported)
    )
    direct = (reported.c.channel == DIRECT).label("is_direct")
    return sa.select(*facts, direct).select_from(units.join(reported, on_unit))


def _conversions_table(table_name: str, extra_columns: tuple[str, ...] = ()) -> sa.TableClause:
    columns = ("unit", "timestamp", "seq", "person_no", *extra_columns)
    return sa.table(
        table_name, *(sa.column(column, CREDITED_CONVERSIONS.c[column].type) for column in columns)
    )


def _time_to_convert(unit: Any, touch: Any) -> Expression:
    return fn.EpochMicroseconds(unit.c.timestamp) - fn.EpochMicroseconds(touch.c["at"])


def _is_in_window(unit: Any, touch: Any) -> list[Expression]:
    return [touch.c["at"] <= unit.c.timestamp, _time_to_convert(unit, touch) <= WINDOW]


def _ranked_reports_of_untouched_conversions(touch_columns: tuple[str, ...]) -> sa.Subquery:
    """Returns units whose person has no earlier touch, with all touches reported before; ``newest`` is 1 for the last report."""
    untouched = UNTOUCHED
    reported = _reported_touches_of_persons_in(touch_columns, untouched)
    up_to = sa.or_(
        reported.c.timestamp < untouched.c.timestamp,
        sa.and_(reported.c.timestamp == untouched.c.timestamp, reported.c.seq <= untouched.c.seq),
    )
    joined = untouched.join(reported, sa.and_(reported.c.person_no == untouched.c.person_no, up_to))
    latest = (reported.c.timestamp.desc(), reported.c.seq.desc())
    newest = sa.func.rank().over(partition_by=untouched.c.unit, order_by=latest).label("newest")
    columns = [reported.c[name] for name in dict.fromkeys(("at", "place_seq", "channel", *touch_columns))]
    return sa.select(untouched.c.unit, *columns, newest).select_from(joined).subquery("reports_up_to")


def _conversions_without_own_touch_query(conversion_table: str, touch_table: str) -> sa.Select[Any]:
    """Selects units whose person has no touch of its own up to the unit."""
    units, touches = _conversions_table(conversion_table), touches_table(touch_table)
    first = sa.select(touches.c.person_no, sa.func.min(touches.c["at"]).label("at"))
    first_touch = first.group_by(touches.c.person_no).subquery("first_touch")
    joined = units.outerjoin(first_touch, first_touch.c.person_no == units.c.person_no)
    columns = [units.c[name] for name in ("unit", "person_no", "timestamp", "seq")]
    later = sa.or_(first_touch.c["at"].is_(None), first_touch.c["at"] > units.c.timestamp)
    return sa.select(*columns).select_from(joined).where(later)


def _reported_touches_of_persons_in(
    touch_columns: tuple[str, ...], untouched_conversions: sa.TableClause
) -> sa.Subquery:
    """Returns the touches reported for the persons of some units."""
    joined, person_no = joined_to_person(REPORTED_TOUCHES)
    own_columns = {name: f"own_{side}" for name, side in CLASSIFICATION_COLUMNS.items()}
    columns = [
        REPORTED_TOUCHES.c[own_columns.get(name, name)].label(name)
        for name in dict.fromkeys(("channel", *touch_columns))
    ]
    place = (REPORTED_TOUCHES.c.seq * 2 + REPORTED_TOUCHES.c.side).label("place_seq")
    keys = (
        REPORTED_TOUCHES.c.timestamp,
        REPORTED_TOUCHES.c.seq,
        REPORTED_TOUCHES.c.touched_at.label("at"),
        place,
    )
    query = sa.select(person_no.label("person_no"), *keys, *columns).select_from(joined)
    of_units = person_no.in_(sa.select(untouched_conversions.c.person_no))
    return query.where(REPORTED_TOUCHES.c.workspace_id == WORKSPACE, of_units).subquery("reports_of_persons")
