"""Evaluates an ordered funnel in one SQL statement that works without a join to the next row in time."""

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.statement_cache import DeferredStatement, deferred_statement
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import FunnelReaderQuery, QueryScope, TimeRange

_INT: Final = sa.BigInteger


def funnel_events_table(step_count: int) -> sa.TableClause:
    """Returns the temporary table of funnel events: unit, microsecond, sequence number and which steps each matches."""
    truths = ("starts", "excluded", *(f"in{k}" for k in range(step_count)))
    columns = (sa.column(name, _INT) for name in ("unit", "t", "seq"))
    return sa.table("funnel_events", *columns, *(sa.column(name, sa.Boolean) for name in truths))


def ordered_funnel_statement(plan: FunnelReaderQuery) -> DeferredStatement:
    """Returns the statement that counts units per step, their times between steps, and those that may still convert.

    Most units have no event of a second step and are only counted. Of the attempts of the others the deepest
    counts, the earliest of equals. Without an excluded event, only events of two neighbouring steps are sorted at a time.
    """
    window = replace(plan.scope, span=TimeRange(plan.now, plan.now + plan.window))
    return deferred_statement(_ordered_funnel_query, window, len(plan.steps), bool(plan.exclude))


def _ordered_funnel_query(window_scope: QueryScope, step_count: int, has_exclusions: bool) -> sa.Select[Any]:
    """Selects the result of a funnel; the span of the scope is the conversion window, starting now."""
    now, end = (
        fn.EpochMicroseconds(sa.literal(to_naive_utc(at)))
        for at in (window_scope.span.start, window_scope.span.end)
    )
    last = step_count - 1
    units = _units_with_latest_start(step_count)
    counts_all = last > 0 and not has_exclusions
    best = (
        _step_times_of_deepest_attempt_per_unit(units, step_count, end - now)
        if counts_all
        else _deepest_valid_attempt_per_unit(units, step_count, end - now, has_exclusions)
    )
    u, b = units.c, best.c
    facts: list[Any] = [sa.func.count()]
    for k in range(1, last + 1):
        reached, waited = b.depth > k, b[f"t{k}"] - b[f"t{k - 1}"]
        facts += [
            sa.func.count().filter(reached),
            fn.Median(waited, reached),
            sa.cast(sa.func.sum(waited).filter(reached), sa.Double),
        ]
    in_time = u.latest + (end - now) >= now
    converts = sa.func.coalesce(b.depth > last, sa.literal(not last))
    facts.append(sa.func.count().filter(sa.and_(sa.not_(converts), in_time)))
    query = sa.select(*facts).select_from(units.outerjoin(best, b.unit == u.unit))
    is_valid = sa.true() if counts_all else sa.or_(sa.not_(u.goes_on), b.unit.is_not(None))
    return query.where(u.latest.is_not(None), is_valid)


def _step_times_of_deepest_attempt_per_unit(
    units: sa.CTE, step_count: int, window: Expression
) -> sa.Subquery:
    """Returns the time of each step, and the depth, of the deepest attempt of each unit that reaches a second step.

    A later start reaches no step earlier, so of the attempts of one depth the earliest has the least time of each step.
    """
    c = _starts_with_times_of_next_steps(units, step_count).c
    later = [c[f"t{k}"] for k in range(1, step_count)]
    depth: Expression = sa.literal_column("2", _INT)
    for reached_at in later[1:]:
        depth += sa.case((reached_at <= c.t + window, 1), else_=0)
    attempts = sa.select(c.unit, depth.label("depth"), c.t.label("t0"), *later)
    in_time = attempts.where(c.starts, later[0] <= c.t + window).subquery("attempts").c
    least = (sa.func.min(in_time[f"t{k}"]).label(f"t{k}") for k in range(step_count))
    by_depth = sa.select(in_time.unit, in_time.depth, *least).group_by(in_time.unit, in_time.depth)
    depths = by_depth.subquery("depths")
    place = sa.func.row_number().over(partition_by=depths.c.unit, order_by=depths.c.depth.desc())
    numbered = sa.select(*depths.c, place.label("nth")).subquery("numbered")
    return sa.select(numbered).where(numbered.c.nth == 1).subquery("best")


def _starts_with_times_of_next_steps(units: sa.CTE, step_count: int) -> sa.Subquery:
    """Returns starts, and events of the second step, of units that go on, with the time each later step is reached.

    Step ``k`` is sought from the events of step ``k - 1`` only, the last step first.
    """
    table = funnel_events_table(step_count)
    t, flags = table.c, ("starts", *(f"in{k}" for k in range(1, step_count)))
    goes_on = sa.and_(units.c.unit == t.unit, units.c.goes_on, units.c.latest.is_not(None))
    columns = (t.unit, t.t, t.seq, *(t[flag] for flag in flags))
    events = sa.select(*columns).select_from(table.join(units, goes_on))
    last = step_count - 1
    rows = events.where(sa.or_(t[flags[last - 1]], t[flags[last]])).subquery(f"rows{last}")
    for k in range(last, 0, -1):
        c = rows.c
        following: Any = {**_backward_window(c), "rows": (None, -1)}
        reached = (
            sa.func.min(sa.case((c[flags[k]], c["t" if j == k else f"t{j}"])))
            .over(**following)
            .label(f"t{j}")
            for j in range(k, step_count)
        )
        level = sa.select(*(c[column.name] for column in columns), *reached).subquery(f"reached{k}")
        if k > 1:
            rest = events.where(t[flags[k - 2]], sa.not_(t[flags[k - 1]]))
            unknown = (sa.cast(sa.null(), _INT).label(f"t{j}") for j in range(k, step_count))
            of_step = sa.select(*level.c).where(level.c[flags[k - 1]])
            rows = sa.union_all(of_step, rest.add_columns(*unknown)).subquery(f"rows{k - 1}")
    return level


def ordered_attempts_statement(plan: FunnelReaderQuery) -> DeferredStatement:
    """Returns the statement of the attempt of each unit that counts.

    Its columns are the microsecond and the sequence number of the first event, the number of steps reached,
    and the microsecond of each later step.
    """
    window = replace(plan.scope, span=TimeRange(plan.now, plan.now + plan.window))
    return deferred_statement(_ordered_attempts_query, window, len(plan.steps), bool(plan.exclude))


def _ordered_attempts_query(
    window_scope: QueryScope, step_count: int, has_exclusions: bool
) -> sa.Select[Any]:
    """Selects the attempts of a funnel; the span of the scope is the conversion window, starting now."""
    now, end = (
        fn.EpochMicroseconds(sa.literal(to_naive_utc(at)))
        for at in (window_scope.span.start, window_scope.span.end)
    )
    units = _units_with_latest_start(step_count)
    best = _deepest_valid_attempt_per_unit(units, step_count, end - now, has_exclusions)
    first = _earliest_start_per_unit(step_count)
    u, b, f = units.c, best.c, first.c
    steps = (sa.case((b.depth > k, b[f"t{k}"])).label(f"t{k}") for k in range(1, step_count))
    columns = (
        sa.func.coalesce(b.t0, f.t).label("t0"),
        sa.func.coalesce(b.seq, f.seq).label("seq"),
        sa.func.coalesce(b.depth, sa.literal_column("1", _INT)).label("depth"),
    )
    joined = units.join(first, f.unit == u.unit).outerjoin(best, b.unit == u.unit)
    query = sa.select(*columns, *steps).select_from(joined)
    return query.where(u.latest.is_not(None), sa.or_(sa.not_(u.goes_on), b.unit.is_not(None)))


def _earliest_start_per_unit(step_count: int) -> sa.Subquery:
    """Returns the first event of each unit that may start an attempt."""
    c = funnel_events_table(step_count).c
    place = sa.func.row_number().over(partition_by=c.unit, order_by=(c.t, c.seq)).label("place")
    starts = sa.select(c.unit, c.t, c.seq, place).where(c.starts).subquery("starts_of_units")
    return (
        sa.select(starts.c.unit, starts.c.t, starts.c.seq).where(starts.c.place == 1).subquery("first_start")
    )


def _units_with_latest_start(step_count: int) -> sa.CTE:
    """Returns each unit with its latest start, and whether it has an event of a second step."""
    c = funnel_events_table(step_count).c
    second = c.in1 if step_count > 1 else sa.false()
    latest = sa.func.max(sa.case((c.starts, c.t))).label("latest")
    return sa.select(c.unit, latest, sa.func.bool_or(second).label("goes_on")).group_by(c.unit).cte("units")


def _deepest_valid_attempt_per_unit(
    units: sa.CTE, step_count: int, window: Expression, has_exclusions: bool
) -> sa.Subquery:
    """Returns the deepest attempt of each unit with a second step, and the time it reached each step."""
    events = _step_times_from_each_event(units, step_count, has_exclusions).c
    last = step_count - 1
    depth: Expression = sa.literal_column("1", _INT)
    for k in range(1, last + 1):
        depth += sa.case((events[f"t{k}"] <= events.t + window, 1), else_=0)
    times = (events[f"t{k}"] for k in range(1, last + 1))
    query = sa.select(events.unit, events.t.label("t0"), events.seq, *times, depth.label("depth"))
    if has_exclusions:
        query = query.add_columns(events.place, events.spoil, *(events[f"p{k}"] for k in range(1, last + 1)))
    attempts = query.where(events.starts).subquery("attempts")
    c = attempts.c
    place = sa.func.row_number().over(partition_by=c.unit, order_by=(c.depth.desc(), c.t0, c.seq))
    numbered = sa.select(*c, place.label("nth"))
    if has_exclusions:
        end = sa.case(*((c.depth == k + 1, c[f"p{k}"]) for k in range(1, last + 1)), else_=c.place)
        numbered = numbered.where(sa.not_(sa.func.coalesce(c.spoil > end, sa.false())))
    best = numbered.subquery("numbered")
    return sa.select(best).where(best.c.nth == 1).subquery("best")


def _step_times_from_each_event(units: sa.CTE, step_count: int, has_exclusions: bool) -> sa.Subquery:
    """Returns every event of these units with the times at which the following steps are reached from there.

    The last step is computed first: step ``k`` is reached at the next event that matches it, and later steps when
    they are reached from that event. Later events reach a step later, so this is the minimum over all following
    events. Rows are processed from the last event of a unit to the first, so that the window only grows;
    in the other direction PostgreSQL rescans it for every event, which takes minutes for a unit with tens of
    thousands of events.
    """
    table = funnel_events_table(step_count)
    goes_on = sa.and_(units.c.unit == table.c.unit, units.c.goes_on, units.c.latest.is_not(None))
    query = sa.select(*table.c)
    if has_exclusions:
        query = query.add_columns(sa.func.row_number().over(**_backward_window(table.c)).label("place"))
    level = query.select_from(table.join(units, goes_on)).subquery("events_of_units")
    for k in reversed(range(1, step_count)):
        level = sa.select(*_next_step_columns(level, k, step_count, has_exclusions)).subquery(f"from{k}")
    return level


def _next_step_columns(
    later_step_times: sa.Subquery, step_index: int, step_count: int, has_exclusions: bool
) -> list[Any]:
    """Returns the columns of each event, and those for step ``k``."""
    c = later_step_times.c
    after = {**_backward_window(c), "rows": (None, -1)}

    def aggregate_of_later_rows(condition: str, value: str, alias: str, aggregate: Any = sa.func.min) -> Any:
        return aggregate(sa.case((c[condition], c[value]))).over(**after).label(alias)

    kept_columns = [
        column
        for column in c
        if column.name not in {f"{kind}{j}" for kind in "tp" for j in range(step_index, step_count)}
    ]
    later = range(step_index + 1, step_count)
    columns = [
        *kept_columns,
        aggregate_of_later_rows(f"in{step_index}", "t", f"t{step_index}"),
        *(aggregate_of_later_rows(f"in{step_index}", f"t{j}", f"t{j}") for j in later),
    ]
    if has_exclusions:
        columns += [aggregate_of_later_rows(f"in{step_index}", "place", f"p{step_index}", sa.func.max)]
        columns += [aggregate_of_later_rows(f"in{step_index}", f"p{j}", f"p{j}", sa.func.max) for j in later]
        if step_index == 1:
            columns.append(aggregate_of_later_rows("excluded", "place", "spoil", sa.func.max))
    return columns


def _backward_window(columns: Any) -> dict[str, Any]:
    return {"partition_by": columns.unit, "order_by": (columns.t.desc(), columns.seq.desc())}
