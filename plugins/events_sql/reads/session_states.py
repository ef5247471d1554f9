"""Reads the session states that ingestion needs to enrich the next events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.row_mapping import to_utc
from plugins.events_sql.schema.tables import ID_NUMBERS, SESSIONS
from plugins.events_sql.sql import functions as fn
from service_core.plugin import SessionKey, SessionState


def read_session_states(
    keys: Sequence[SessionKey], runner: StatementRunner
) -> dict[SessionKey, SessionState]:
    """Returns the entry page, the values of the latest event and the latest campaign of each session."""
    wanted, states = set(keys), {}
    for workspace_id, visitor, session_id, *facts in runner.fetch_rows(_states_of_all_key_combinations(keys)):
        key = workspace_id, visitor.removeprefix("v:"), session_id
        if key in wanted:
            states[key] = _to_session_state(*facts)
    return states


def _states_of_all_key_combinations(keys: Sequence[SessionKey]) -> sa.Select[Any]:
    """Selects the states of all combinations of the given workspaces, visitors and sessions; callers drop the others."""
    c, texts = SESSIONS.c, sa.ARRAY(sa.Text)
    workspaces = sa.literal(sorted({key[0] for key in keys}), sa.ARRAY(sa.Uuid))
    visitors = sa.literal(sorted({"v:" + key[1] for key in keys}), texts)
    sessions = sa.literal(sorted({key[2] for key in keys}), texts)
    facts = (c.first_at, c.entry_landing_page, c.touch, c.campaign)
    return (
        sa.select(ID_NUMBERS.c.workspace_id, ID_NUMBERS.c.id, c.session_id, *facts)
        .join_from(
            ID_NUMBERS,
            SESSIONS,
            sa.and_(c.visitor_no == ID_NUMBERS.c.number, c.workspace_id == ID_NUMBERS.c.workspace_id),
        )
        .where(fn.InArray(ID_NUMBERS.c.workspace_id, workspaces), fn.InArray(ID_NUMBERS.c.id, visitors))
        .where(fn.InArray(c.session_id, sessions), sa.not_(c.is_bot))
    )


def _to_session_state(
    first_at: datetime,
    landing_page: str | None,
    touch: Sequence[str | None],
    campaign: Sequence[str | None] | None,
) -> SessionState:
    source, medium, channel = touch
    return SessionState(
        first_at=to_utc(first_at),
        landing_page=landing_page,
        attribution_source=source,
        attribution_medium=medium,
        channel=channel,
        last_campaign=None if campaign is None else tuple(campaign),
    )
