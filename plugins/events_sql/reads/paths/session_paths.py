"""Reads the nodes before and after a chosen page or event in the sessions of a span.

The nodes of the sessions with the chosen one are numbered from there in one temporary table, from which all numbers
and pages are read.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.events_with_person import (
    EventPosition,
    instant_of_microsecond,
    read_events_with_person,
)
from plugins.events_sql.relations.relation_rows import EventRows
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import (
    PAGE_VIEWS,
    PathSession,
    PathSessionPage,
    PathSessionsQuery,
    PathsQuery,
    PathsResult,
    PathStep,
    PathStepCondition,
)

_INT: Final = sa.BigInteger
PATH_NODES: Final = sa.table(
    "path_nodes",
    *(sa.column(name, _INT) for name in ("unit", "t", "seq", "step")),
    sa.column("node", sa.Text),
)
"""Temporary table of the nodes of the sessions by step; step 0 is the chosen node."""


def read_paths(query: PathsQuery, nodes_per_step: int, runner: StatementRunner) -> PathsResult:
    """Returns the most frequent nodes of each step."""
    runner.create_temp_table(PATH_NODES.name, _steps_from_chosen_node_query(query))
    c = PATH_NODES.c
    counted = sa.select(sa.func.count()).select_from(PATH_NODES).where(c.step == 0, *_has_nodes(query))
    ((sessions,),) = runner.fetch_rows(counted)
    steps: list[PathStep] = [PathStep((), 0, 0)] * query.step_count
    nodes: dict[int, list[tuple[str, int]]] = {}
    for step, node, count, total, different in runner.fetch_rows(_ranked_nodes_query(query, nodes_per_step)):
        nodes.setdefault(step, []).append((node, count))
        steps[step - 1] = PathStep(tuple(nodes[step]), int(total), different)
    return PathsResult(sessions, tuple(steps))


def list_path_sessions(query: PathSessionsQuery, runner: StatementRunner) -> PathSessionPage:
    """Returns a page of the sessions that meet a condition."""
    runner.begin_snapshot()
    runner.create_temp_table(PATH_NODES.name, _steps_from_chosen_node_query(query.paths))
    c = PATH_NODES.c
    where = (c.step == 0, *_has_nodes(query.paths), *_step_conditions(query.condition))
    ((total,),) = runner.fetch_rows(sa.select(sa.func.count()).select_from(PATH_NODES).where(*where))
    page = sa.select(c.t, c.seq).where(*where).order_by(c.t.desc(), c.seq.desc())
    rows = runner.fetch_rows(page.limit(query.limit).offset(query.offset or None))
    chosen = read_events_with_person(query.paths.scope, [EventPosition(*row) for row in rows], runner)
    sessions = [PathSession(*chosen[seq], instant_of_microsecond(t)) for t, seq in rows if seq in chosen]
    return PathSessionPage(sessions, total)


def _steps_from_chosen_node_query(query: PathsQuery) -> sa.Select[Any]:
    """Selects the nodes of the sessions with the chosen one, numbered from there."""
    numbered = _numbered_nodes_without_repeats(query)
    c = numbered.c
    chosen = sa.func.min(sa.case((c.starts, c.place))).over(partition_by=c.unit).label("chosen")
    placed = sa.select(c.unit, c.t, c.seq, c.node, c.place, chosen).subquery("placed")
    p = placed.c
    step = (p.chosen - p.place if query.backward else p.place - p.chosen).label("step")
    steps = sa.select(p.unit, p.t, p.seq, step, p.node).where(p.chosen.is_not(None)).subquery("steps")
    return sa.select(*(steps.c[column.name] for column in PATH_NODES.c)).where(
        steps.c.step >= 0, steps.c.step <= query.step_count
    )


def _numbered_nodes_without_repeats(query: PathsQuery) -> sa.Subquery:
    """Returns the nodes of each session in order; of consecutive equal ones the first."""
    nodes = _nodes_with_previous(query)
    c = nodes.c
    place = sa.func.row_number().over(partition_by=c.unit, order_by=(c.t, c.seq)).label("place")
    differs = sa.or_(c.previous.is_(None), c.previous != c.node)
    return sa.select(c.unit, c.t, c.seq, c.node, c.starts, place).where(differs).subquery("numbered")


def _nodes_with_previous(query: PathsQuery) -> sa.Subquery:
    rows = EventRows(query.scope, query.scope.span)
    node = rows.table.c.page_path if query.by_page else rows.table.c.event_name
    filters = [rows.cached_condition_joining_its_tables(condition) for condition in query.scope.filters]
    starts = sa.func.coalesce(sa.and_(name_in(node, query.start), *filters), sa.false())
    columns = (
        rows.table.c.session_no.label("unit"),
        fn.EpochMicroseconds(rows.at).label("t"),
        rows.table.c.seq,
        sa.cast(node, sa.Text).label("node"),
        starts.label("starts"),
    )
    events = sa.select(*columns).select_from(rows.source).where(*rows.where, *_node_conditions(query, rows))
    e = events.subquery("node_events").c
    window: Any = {"partition_by": e.unit, "order_by": (e.t, e.seq)}
    previous = sa.func.max(sa.case((e.seq.is_not(None), e.node))).over(**window, rows=(-1, -1))
    return sa.select(e.unit, e.t, e.seq, e.node, e.starts, previous.label("previous")).subquery("in_order")


def _node_conditions(query: PathsQuery, rows: EventRows) -> list[Expression]:
    """Returns the conditions of the events of a device that are nodes."""
    c = rows.table.c
    if not query.by_page:
        return [c.from_device]
    return [c.from_device, name_in(c.event_name, PAGE_VIEWS), c.page_path.is_not(None)]


def _ranked_nodes_query(query: PathsQuery, nodes_per_step: int) -> sa.Select[Any]:
    """Selects the most frequent nodes of each step, with the sessions and the nodes of the whole step."""
    c = PATH_NODES.c
    count = sa.func.count().label("sessions")
    grouped = sa.select(c.step, c.node, count).where(c.step > 0, *_has_nodes(query))
    g = grouped.group_by(c.step, c.node).subquery("grouped").c
    place = sa.func.row_number().over(partition_by=g.step, order_by=(g.sessions.desc(), g.node))
    total = sa.func.sum(g.sessions).over(partition_by=g.step).label("total")
    different = sa.func.count().over(partition_by=g.step).label("different")
    columns = (g.step, g.node, g.sessions, total, different, place.label("place"))
    r = sa.select(*columns).subquery("ranked").c
    chosen = sa.select(r.step, r.node, r.sessions, r.total, r.different).where(r.place <= nodes_per_step)
    return chosen.order_by(r.step, r.place)


def _has_nodes(query: PathsQuery) -> list[Expression]:
    """Returns the conditions of the sessions that have the nodes that the query names."""
    return [_session_has_step_with_node(step, node=node) for step, node in enumerate(query.through, 1)]


def _step_conditions(condition: PathStepCondition) -> list[Expression]:
    if condition.step == 0:
        return []
    if condition.is_end:
        return [sa.not_(_session_has_step_with_node(condition.step))]
    return [_session_has_step_with_node(condition.step, node=condition.node, other_than=condition.other_than)]


def _session_has_step_with_node(
    step: int, *, node: str | None = None, other_than: frozenset[str] = frozenset()
) -> Expression:
    """Returns whether the session has a step, with a node or with none of several nodes."""
    at_step = PATH_NODES.alias("at_step")
    c = at_step.c
    wanted = [] if node is None else [c.node == sa.literal(node)]
    others = [sa.not_(name_in(c.node, other_than))] if other_than else []
    return PATH_NODES.c.unit.in_(sa.select(c.unit).where(c.step == sa.literal(step), *wanted, *others))
