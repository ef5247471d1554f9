"""Counts touch paths with and without conversion and sums their money, for data-driven attribution models."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql.attribution.credited_conversions import (
    CREDITED_CONVERSIONS,
    create_credited_conversions_table,
)
from plugins.events_sql.attribution.path_touches import (
    PATH_TOUCHES,
    create_touch_tables_of_all_persons,
)
from plugins.events_sql.attribution.touch_paths import touches_in_window_query
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.shared_reads import is_same_value
from plugins.events_sql.relations.currency_conversion import is_foreign
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import compiled_source
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.time_buckets import microseconds
from service_core.plugin import CreditRule, QueryScope, TouchPath, TouchPathQuery, Weighting

PathKeys = tuple[tuple[str | None, ...], ...]


_MONEY_COLUMNS: Final = ("amount", "refunded")
_UNIT_COLUMNS: Final = ("credit", "is_order", *_MONEY_COLUMNS, "currency", "has_path")


class _PathSums(NamedTuple):
    """Sums of the conversions, charges and refunds of one path."""

    converted: int = 0
    amount: int = 0
    refunded: int = 0
    orders: int = 0


def count_touch_paths(plans: Sequence[TouchPathQuery], runner: StatementRunner) -> list[list[TouchPath]]:
    """Returns every distinct path with its counts and its money, for plans that differ only in their key columns."""
    plan = plans[0]
    rule = CreditRule(Weighting.LAST, plan.window, event_names=plan.event_names)
    runner.begin_snapshot()
    create_credited_conversions_table(plan.scope, rule, runner, with_first_orders=False)
    create_touch_tables_of_all_persons(plan.scope, plan.window, runner)
    return [_count_paths_from_tables(plan, runner) for plan in plans]


def may_share_path_tables(first: TouchPathQuery, second: TouchPathQuery) -> bool:
    """Returns whether two plans differ only in their key columns."""
    return is_same_value(replace(first, key_columns=()), replace(second, key_columns=()))


def _count_paths_from_tables(plan: TouchPathQuery, runner: StatementRunner) -> list[TouchPath]:
    sums = _sum_by_path(runner, plan.scope, _window_touches_per_unit(plan))
    unconverted = _count_distinct_collapsed_paths(runner, _touches_per_unconverted_person(plan))
    return [
        _touch_path(keys, sums.get(keys, _PathSums()), unconverted[keys]) for keys in {**sums, **unconverted}
    ]


def _touch_path(keys: PathKeys, sums: _PathSums, unconverted: int) -> TouchPath:
    return TouchPath(keys, sums.converted, unconverted, sums.amount, sums.refunded, sums.orders)


def _sum_by_path(
    runner: StatementRunner, scope: QueryScope, touches_of_units: sa.Subquery
) -> dict[PathKeys, _PathSums]:
    """Returns the conversions and the money of each path; money without a rate is left out."""
    paths = _collapsed_path_per_unit(touches_of_units, *_UNIT_COLUMNS)
    convertible = sa.not_(is_foreign(paths.c.currency, scope))
    sums = (
        sa.func.count().filter(paths.c.credit > 0),
        *(sa.func.coalesce(sa.func.sum(paths.c[name]).filter(convertible), 0) for name in _MONEY_COLUMNS),
        sa.func.count().filter(paths.c.is_order),
    )
    rows = runner.fetch_rows(sa.select(paths.c["keys"], *sums).group_by(paths.c["keys"]))
    return {_path_keys(keys): _PathSums(*map(int, values)) for keys, *values in rows}


def _count_distinct_collapsed_paths(
    runner: StatementRunner, touches_of_units: sa.Subquery
) -> Counter[PathKeys]:
    """Returns how many units have each path; consecutive equal keys count once."""
    paths = _collapsed_path_per_unit(touches_of_units)
    path_rows = runner.fetch_rows(sa.select(paths.c["keys"], sa.func.count()).group_by(paths.c["keys"]))
    return Counter({_path_keys(keys): n for keys, n in path_rows})


def _path_keys(keys: Any) -> PathKeys:
    return tuple(map(tuple, keys))


def _collapsed_path_per_unit(touches_of_units: sa.Subquery, *unit_columns: str) -> sa.Subquery:
    """Returns the keys of each unit in order, consecutive equal ones once, and columns of the unit."""
    before = sa.func.lag(touches_of_units.c.key).over(
        partition_by=touches_of_units.c.unit, order_by=(touches_of_units.c.at, touches_of_units.c.seq)
    )
    changes = sa.select(
        touches_of_units, touches_of_units.c.key.is_distinct_from(before).label("changes")
    ).subquery()
    columns = [changes.c[name] for name in unit_columns]
    return (
        sa.select(fn.OrderedArrayAgg(changes.c.key, changes.c.at, changes.c.seq).label("keys"), *columns)
        .where(changes.c.changes)
        .group_by(changes.c.unit, *columns)
        .subquery()
    )


def _path_key(plan: TouchPathQuery, touch: Any, column_prefix: str = "") -> Expression:
    parts = [
        [touch.c[column_prefix + part.name] for part in column.candidates] for column in plan.key_columns
    ]
    texts = [names[0] if len(names) == 1 else sa.func.coalesce(*names) for names in parts]
    return fn.TupleKey(*texts).label("key")


def _window_touches_per_unit(plan: TouchPathQuery) -> sa.Subquery:
    """Returns the touches in the window of each conversion, charge or refund; a refund without an order has none."""
    touch_columns = tuple(
        dict.fromkeys(part.name for column in plan.key_columns for part in column.candidates)
    )
    shape = (CREDITED_CONVERSIONS.name, PATH_TOUCHES.name, touch_columns, _UNIT_COLUMNS)
    values = {"workspace": plan.scope.workspace_id, "within": microseconds(plan.window)}
    in_window = compiled_source(touches_in_window_query, *shape).as_subquery("reached", **values)
    columns = (in_window.c.unit, in_window.c.touch_at.label("at"), in_window.c.touch_seq.label("seq"))
    unit_columns = (in_window.c[name] for name in _UNIT_COLUMNS)
    return (
        sa.select(*columns, *unit_columns, _path_key(plan, in_window, "touch_"))
        .where(in_window.c.has_path)
        .subquery("of_unit")
    )


def _touches_per_unconverted_person(plan: TouchPathQuery) -> sa.Subquery:
    """Returns one path per person with a touch since the window before the span and no conversion in the span."""
    touch, units = PATH_TOUCHES, CREDITED_CONVERSIONS
    done = sa.select(units.c.person_no).where(units.c.credit > 0).distinct().subquery("done")
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
