"""Counts touch paths with and without conversion, for data-driven attribution models."""

from collections import Counter
from typing import Any

import sqlalchemy as sa

from plugins.events_sql.attribution.touch_paths import touch_paths
from plugins.events_sql.attribution.touches import all_touches_with_person
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.identity_resolution import joined_to_person
from plugins.events_sql.relations.relation_rows import conversions_once_per_order, span_conditions
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import TouchPath, TouchPathQuery


def count_touch_paths(plan: TouchPathQuery, runner: StatementRunner) -> list[TouchPath]:
    """Returns every distinct path with how often it converted and how often it did not."""
    converting = _conversions_in_span_with_person(plan)
    converted = _count_distinct_collapsed_paths(runner, _window_touches_per_conversion(plan, converting))
    unconverted = _count_distinct_collapsed_paths(runner, _touches_per_unconverted_person(plan, converting))
    return [TouchPath(keys, converted[keys], unconverted[keys]) for keys in {**converted, **unconverted}]


def _count_distinct_collapsed_paths(runner: StatementRunner, touches_of_units: sa.Subquery) -> Counter[Any]:
    """Returns how many units have each path; consecutive equal keys count once."""
    before = sa.func.lag(touches_of_units.c.key).over(
        partition_by=touches_of_units.c.unit, order_by=(touches_of_units.c.at, touches_of_units.c.seq)
    )
    changes = sa.select(
        touches_of_units, touches_of_units.c.key.is_distinct_from(before).label("changes")
    ).subquery()
    paths = (
        sa.select(fn.OrderedArrayAgg(changes.c.key, changes.c.at, changes.c.seq).label("keys"))
        .where(changes.c.changes)
        .group_by(changes.c.unit)
        .subquery()
    )
    path_rows = runner.fetch_rows(sa.select(paths.c["keys"], sa.func.count()).group_by(paths.c["keys"]))
    return Counter({tuple(map(tuple, keys)): n for keys, n in path_rows})


def _conversions_in_span_with_person(plan: TouchPathQuery) -> sa.CTE:
    """Returns the conversions of the span with their persons."""
    table = conversions_once_per_order(plan.scope, plan.scope.span)
    joined, person_no = joined_to_person(table, workspace=plan.scope.workspace_id)
    where = span_conditions(table.c.timestamp, plan.scope.span)
    if plan.event_names is not None:
        where.append(name_in(table.c.event_name, plan.event_names))
    columns = (table.c.seq.label("unit"), table.c.seq, table.c.timestamp, person_no.label("person_no"))
    return sa.select(*columns).select_from(joined).where(*where).cte("converting")


def _path_key(plan: TouchPathQuery, touch: Any, column_prefix: str = "") -> Expression:
    parts = [
        [touch.c[column_prefix + part.name] for part in column.candidates] for column in plan.key_columns
    ]
    texts = [names[0] if len(names) == 1 else sa.func.coalesce(*names) for names in parts]
    return fn.TupleKey(*texts).label("key")


def _window_touches_per_conversion(plan: TouchPathQuery, conversions: sa.CTE) -> sa.Subquery:
    touch = all_touches_with_person(plan.scope, only_persons_of=conversions)
    touch_columns = tuple(
        dict.fromkeys(part.name for column in plan.key_columns for part in column.candidates)
    )
    in_window = touch_paths(conversions, touch, plan.scope, plan.window, touch_columns)
    columns = (in_window.c.unit, in_window.c.touch_at.label("at"), in_window.c.touch_seq.label("seq"))
    return sa.select(*columns, _path_key(plan, in_window, "touch_")).subquery("of_unit")


def _touches_per_unconverted_person(plan: TouchPathQuery, conversions: sa.CTE) -> sa.Subquery:
    """Returns one path per person with a touch since the window before the span and no conversion in the span."""
    touch = all_touches_with_person(plan.scope)
    done = sa.select(conversions.c.person_no).distinct().subquery("done")
    span = plan.scope.span
    return (
        sa.select(touch.c.person_no.label("unit"), touch.c.at, touch.c.seq, _path_key(plan, touch))
        .select_from(touch.outerjoin(done, done.c.person_no == touch.c.person_no))
        .where(
            done.c.person_no.is_(None),
            touch.c.at >= sa.literal(to_naive_utc(span.start - plan.window)),
            touch.c.at < sa.literal(to_naive_utc(span.end)),
        )
        .subquery("of_unit")
    )
