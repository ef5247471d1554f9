"""Which sessions were there: distinct visitors and sessions of a span without a look at every event.

A session that begins or ends in the span has an event there. Only of one that reaches over the whole
span the events have to be asked.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.conditions import Expression
from plugins.events_sql.prepared import END, START, WORKSPACE, source, told
from plugins.events_sql.relations import Rows
from plugins.events_sql.tables import ENTRY_COLUMNS, ENTRY_PREFIX, EVENTS, SESSIONS
from service_core.plugin import Aggregate, Leaf, Relation, Scan, Span

_ENTRY: Final = "entry."
_COUNTED: Final = {"visitor_id": "visitor_no", "session": "session_no"}
_NEWNESS: Final = "visitor_is_new"


def told_by_sessions(plan: Aggregate, leaf: Leaf) -> bool:
    """Whether a leaf counts visitors or sessions by nothing but what is known of each session."""
    if leaf.of is not Relation.EVENTS or not leaf.distinct or leaf.trailing_days is not None:
        return False
    if leaf.column not in _COUNTED or plan.buckets or plan.scan.include_bots:
        return False
    predicates = (*plan.scan.filters, *leaf.where)
    columns = [p.column for p in predicates] + [d.get(Relation.EVENTS) for d in plan.dimensions]
    return all(_is_of_session(part) for name in columns if name for part in name.split("|"))


def _is_of_session(name: str) -> bool:
    return name == _NEWNESS or (name.startswith(_ENTRY) and name.removeprefix(_ENTRY) in ENTRY_COLUMNS)


class PresentRows(Rows):
    """EVENTS as far as leaves `told_by_sessions` see them: one row per session, or a few."""

    def __init__(self, scan: Scan, span: Span) -> None:
        self.table = source(_present).under("present", **told(scan, span))
        self.at = self.table.c.first_at
        super().__init__(scan)

    def key(self, name: str) -> Expression:
        """Numbers stand for visitors and sessions."""
        return self.table.c[_COUNTED[name]]

    def single(self, name: str) -> Expression:
        """A column of the session's first event, or about its visitor."""
        if name == _NEWNESS:
            return self.is_new(self.table.c.visitor_no)
        return self.table.c[ENTRY_PREFIX + name.removeprefix(_ENTRY)]


def _present() -> sa.CompoundSelect[Any]:
    c = SESSIONS.c
    own = (c.workspace_id == WORKSPACE, sa.not_(c.is_bot), c.first_at < END, c.last_at >= START)
    columns = [c.visitor_no, c.session_no, c.first_at, *(c[ENTRY_PREFIX + name] for name in ENTRY_COLUMNS)]
    settled = sa.select(*columns).where(*own, sa.or_(c.first_at >= START, c.last_at < END))
    reaching_over = (
        sa.select(*columns)
        .join_from(SESSIONS, EVENTS, EVENTS.c.session_no == c.session_no)
        .where(*own, c.first_at < START, c.last_at >= END)
        .where(EVENTS.c.workspace_id == WORKSPACE, sa.not_(EVENTS.c.is_bot))
        .where(EVENTS.c.timestamp >= START, EVENTS.c.timestamp < END)
    )
    return sa.union_all(settled, reaching_over)
