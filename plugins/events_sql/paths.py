"""Touch paths for data-driven models (semantics 9)."""

from collections import Counter
from typing import Any

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.facts import among
from plugins.events_sql.reach import reached
from plugins.events_sql.relations import between, conversions
from plugins.events_sql.rows import naive
from plugins.events_sql.stitching import person_of
from plugins.events_sql.touches import touches
from service_core.plugin import Path, PathPlan


def paths(plan: PathPlan, reader: Reader) -> list[Path]:
    """Every different path with how often it converted and how often it did not."""
    converting = _conversions(plan)
    converted = _counted(reader, _per_conversion(plan, converting))
    unconverted = _counted(reader, _per_person(plan, converting))
    return [Path(keys, converted[keys], unconverted[keys]) for keys in {**converted, **unconverted}]


def _counted(reader: Reader, of_unit: sa.Subquery) -> Counter[Any]:
    """How many units have each path; repeats of a key in a row are one."""
    before = sa.func.lag(of_unit.c.key).over(
        partition_by=of_unit.c.unit, order_by=(of_unit.c.at, of_unit.c.seq)
    )
    changes = sa.select(of_unit, of_unit.c.key.is_distinct_from(before).label("changes")).subquery()
    listed = (
        sa.select(fn.InOrder(changes.c.key, changes.c.at, changes.c.seq).label("keys"))
        .where(changes.c.changes)
        .group_by(changes.c.unit)
        .subquery()
    )
    found = reader.rows(sa.select(listed.c["keys"], sa.func.count()).group_by(listed.c["keys"]))
    return Counter({tuple(map(tuple, keys)): n for keys, n in found})


def _conversions(plan: PathPlan) -> sa.CTE:
    """Conversions of the span with their persons."""
    table = conversions(plan.scan, plan.scan.span)
    joined, person_no = person_of(table, workspace=plan.scan.workspace_id)
    where = between(table.c.timestamp, plan.scan.span)
    if plan.event_names is not None:
        where.append(among(table.c.event_name, plan.event_names))
    columns = (table.c.seq.label("unit"), table.c.seq, table.c.timestamp, person_no.label("person_no"))
    return sa.select(*columns).select_from(joined).where(*where).cte("converting")


def _key(plan: PathPlan, touch: Any, prefix: str = "") -> Expression:
    parts = [[touch.c[prefix + name] for name in column.split("|")] for column in plan.key]
    texts = [names[0] if len(names) == 1 else sa.func.coalesce(*names) for names in parts]
    return fn.Row(*texts).label("key")


def _per_conversion(plan: PathPlan, converting: sa.CTE) -> sa.Subquery:
    touch = touches(plan.scan, of=converting)
    asked = tuple(dict.fromkeys(name for column in plan.key for name in column.split("|")))
    met = reached(converting, touch, plan.scan, plan.window, asked)
    columns = (met.c.unit, met.c.touch_at.label("at"), met.c.touch_seq.label("seq"))
    return sa.select(*columns, _key(plan, met, "touch_")).subquery("of_unit")


def _per_person(plan: PathPlan, converting: sa.CTE) -> sa.Subquery:
    """One path per person with a touch since the window before the span and no conversion in it."""
    touch = touches(plan.scan)
    done = sa.select(converting.c.person_no).distinct().subquery("done")
    span = plan.scan.span
    return (
        sa.select(touch.c.person_no.label("unit"), touch.c.at, touch.c.seq, _key(plan, touch))
        .select_from(touch.outerjoin(done, done.c.person_no == touch.c.person_no))
        .where(
            done.c.person_no.is_(None),
            touch.c.at >= sa.literal(naive(span.start - plan.window)),
            touch.c.at < sa.literal(naive(span.end)),
        )
        .subquery("of_unit")
    )
