"""The walk of an ordered funnel by ASOF joins: half the time of the form that every engine knows.

From every possible start the next event of each following step is found by a join to the next row.
"""

from service_core.plugin import FunnelPlan


def walk(plan: FunnelPlan) -> str:
    """The walk over ``steps``, given the window and now in microseconds; columns as of `walks.ordered`."""
    last = len(plan.steps) - 1
    walked, joins = ["s0.unit", "s0.pos AS pos0", "s0.t AS t0"], []
    for k in range(1, last + 1):
        walked += [f"s{k}.pos AS pos{k}", f"s{k}.t AS t{k}"]
        joins.append(
            f"ASOF LEFT JOIN (SELECT unit, pos, t FROM steps WHERE in{k}) s{k}"  # noqa: S608 - numbers only
            f" ON s{k - 1}.unit = s{k}.unit AND s{k - 1}.pos < s{k}.pos"
        )
    if plan.exclude:
        walked.append("x.pos AS spoil")
        joins.append(
            "ASOF LEFT JOIN (SELECT unit, pos FROM steps WHERE excluded) x"
            " ON s0.unit = x.unit AND s0.pos < x.pos"
        )
    depth = " + ".join(["1", *(f"CAST(coalesce(t{k} <= t0 + $1, false) AS INT)" for k in range(1, last + 1))])
    ends = "CASE depth " + " ".join(f"WHEN {k + 1} THEN pos{k}" for k in range(last + 1)) + " END"
    clean = f"NOT coalesce(spoil < {ends}, false)" if plan.exclude else "true"
    times = ", ".join(f"'t{k}': t{k}" for k in range(last + 1))
    facts = [
        f"count(*) FILTER (depth > {k}), median(t{k} - t{k - 1}) FILTER (depth > {k}),"
        f" CAST(sum(t{k} - t{k - 1}) FILTER (depth > {k}) AS DOUBLE)"
        for k in range(1, last + 1)
    ]
    return f"""
    WITH walks AS (SELECT {", ".join(walked)} FROM (SELECT unit, pos, t FROM steps WHERE starts) s0 {" ".join(joins)}),
    attempts AS (SELECT *, {depth} AS depth FROM walks),
    units AS (
      SELECT max(t0) AS latest, arg_max({{'depth': depth, {times}}}, (depth, -pos0)) FILTER ({clean}) AS best
      FROM attempts GROUP BY unit),
    best AS (SELECT latest, unnest(best) FROM units WHERE best IS NOT NULL)
    SELECT count(*), {"".join(fact + ", " for fact in facts)}
      count(*) FILTER (depth <= {last} AND $2 <= latest + $1) FROM best
    """  # noqa: S608 - numbers of steps only
