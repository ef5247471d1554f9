"""The walk of an ordered funnel as one statement, for engines without a join to the next row in time."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.periods import micros, micros_of
from service_core.plugin import FunnelPlan

_INT: Final = sa.BigInteger


def steps(plan: FunnelPlan) -> sa.TableClause:
    """The events that matter, as kept for the question: unit, place, microsecond, what each can be."""
    truths = ("starts", "excluded", *(f"in{k}" for k in range(len(plan.steps))))
    columns = (sa.column("unit", _INT), sa.column("pos", fn.Position.type), sa.column("t", _INT))
    return sa.table("steps", *columns, *(sa.column(name, sa.Boolean) for name in truths))


def ordered(plan: FunnelPlan) -> sa.Select[Any]:
    """How many units reached each step, how long it took them, and how many may still convert.

    Every event knows the place of the next one of each step; from every possible start the places are
    followed, and of the attempts of a unit the deepest counts, the earliest of equals.
    """
    attempts = _attempts(plan)
    c, last = attempts.c, len(plan.steps) - 1
    place = sa.func.row_number().over(partition_by=c.unit, order_by=(c.depth.desc(), c.pos0))
    placed = sa.select(*c, place.label("place")).where(c.clean).subquery("placed")
    best = sa.select(placed).where(placed.c.place == 1).subquery("best")
    facts: list[Any] = [sa.func.count()]
    for k in range(1, last + 1):
        reached, waited = best.c.depth > k, best.c[f"t{k}"] - best.c[f"t{k - 1}"]
        facts += [
            sa.func.count().filter(reached),
            fn.Median(waited, reached),
            sa.cast(sa.func.sum(waited).filter(reached), sa.Double),
        ]
    in_time = best.c.latest + sa.literal(micros_of(plan.window)) >= sa.literal(micros(plan.now))
    facts.append(sa.func.count().filter(sa.and_(best.c.depth <= last, in_time)))
    return sa.select(*facts)


def _attempts(plan: FunnelPlan) -> sa.Subquery:
    """The walk from every start: its places and times, how deep it got, and whether nothing spoilt it."""
    followed = _followed(plan)
    walk = [followed.alias(f"s{k}") for k in range(len(plan.steps))]
    source: Any = walk[0]
    for k in range(1, len(walk)):
        same = sa.and_(walk[k].c.unit == walk[0].c.unit, walk[k].c.pos == walk[k - 1].c[f"next{k}"])
        source = source.outerjoin(walk[k], same)
    t0, window = walk[0].c.t, sa.literal(micros_of(plan.window))
    reached = [sa.func.coalesce(step.c.t <= t0 + window, sa.false()) for step in walk[1:]]
    depth: Expression = sa.literal_column("1", _INT)
    for one in reached:
        depth += sa.case((one, 1), else_=0)
    places = [step.c.pos.label(f"pos{k}") for k, step in enumerate(walk)]
    times = [step.c.t.label(f"t{k}") for k, step in enumerate(walk)]
    latest = sa.func.max(t0).over(partition_by=walk[0].c.unit).label("latest")
    columns = (walk[0].c.unit, *places, *times, latest, depth.label("depth"), walk[0].c.spoil)
    every = sa.select(*columns).select_from(source).where(walk[0].c.starts).subquery("walks")
    end = sa.case(*((every.c.depth == k + 1, every.c[f"pos{k}"]) for k in range(len(walk))))
    clean = sa.not_(sa.func.coalesce(every.c.spoil < end, sa.false()))
    return sa.select(*every.c, clean.label("clean")).subquery("attempts")


def _followed(plan: FunnelPlan) -> sa.CTE:
    """Every event with the place of the next one of each later step, and of the next excluded one.

    From the last to the first, so that what comes after only grows: from the first on, PostgreSQL goes
    through it again for each event, which takes minutes for a unit with tens of thousands of them.
    """
    table = steps(plan)
    after: Any = {"partition_by": table.c.unit, "order_by": table.c.pos.desc(), "rows": (None, -1)}

    def following(truth: str, name: str) -> Expression:
        return sa.func.min(sa.case((table.c[truth], table.c.pos))).over(**after).label(name)

    next_steps = [following(f"in{k}", f"next{k}") for k in range(1, len(plan.steps))]
    columns = (table.c.unit, table.c.pos, table.c.t, table.c.starts)
    return sa.select(*columns, *next_steps, following("excluded", "spoil")).cte("followed")
