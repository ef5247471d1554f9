"""Reads the session states that ingestion needs to enrich the next events."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.row_mapping import to_utc
from plugins.events_sql.schema.tables import ID_NUMBERS, SESSIONS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.event_kinds import name_in
from service_core.plugin import PAGE_VIEWS, SessionKey, SessionState

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it
_SEQUENCE_NUMBERS_PER_MICROSECOND: Final = 2**63
"""The factor of the microsecond in `functions.EventPosition`."""


def read_session_states(
    keys: Sequence[SessionKey], runner: StatementRunner
) -> dict[SessionKey, SessionState]:
    """Returns the state of each session that is stored or whose visitor has campaign values."""
    wanted, states = set(keys), {}
    for workspace_id, visitor, session_id, *facts in runner.fetch_rows(_states_of_all_key_combinations(keys)):
        key = workspace_id, visitor.removeprefix("v:"), session_id
        if key in wanted:
            states[key] = _to_session_state(*facts)
    campaigns = {
        (workspace_id, visitor.removeprefix("v:")): (tuple(values), _instant_of_position(position))
        for workspace_id, visitor, values, position in runner.fetch_rows(_latest_campaign_per_visitor(keys))
    }
    for key in wanted:
        if (latest := campaigns.get(key[:2])) is not None:
            state = states.get(key, SessionState(None))
            states[key] = replace(state, last_campaign=latest[0], last_campaign_at=latest[1])
    return states


def _states_of_all_key_combinations(keys: Sequence[SessionKey]) -> sa.Select[Any]:
    """Selects the states of all combinations of the given workspaces, visitors and sessions; callers drop the others."""
    c = SESSIONS.c
    sessions = sa.literal(sorted({key[2] for key in keys}), sa.ARRAY(sa.Text))
    begins_with_system_event = sa.and_(
        fn.TextStartsWith(c.entry_event_name, sa.literal("$")),
        sa.not_(name_in(c.entry_event_name, PAGE_VIEWS)),
    )
    landing_page = sa.case((sa.not_(begins_with_system_event), c.entry_landing_page))
    columns = (ID_NUMBERS.c.workspace_id, ID_NUMBERS.c.id, c.session_id, c.first_at, landing_page, c.touch)
    return _visit_sessions_of_visitors(keys, *columns).where(fn.InArray(c.session_id, sessions))


def _latest_campaign_per_visitor(keys: Sequence[SessionKey]) -> sa.Select[Any]:
    c = SESSIONS.c
    place = sa.func.row_number().over(partition_by=c.visitor_no, order_by=c.campaign_at.desc()).label("place")
    ids = (ID_NUMBERS.c.workspace_id, ID_NUMBERS.c.id)
    campaigns = _visit_sessions_of_visitors(keys, *ids, c.campaign, c.campaign_at, place)
    numbered = campaigns.where(c.campaign_at.is_not(None)).subquery("numbered")
    return sa.select(*list(numbered.c)[:-1]).where(numbered.c.place == 1)


def _visit_sessions_of_visitors(keys: Sequence[SessionKey], *columns: Any) -> sa.Select[Any]:
    """Selects columns of the sessions of all combinations of the given workspaces and visitors."""
    c = SESSIONS.c
    workspaces = sa.literal(sorted({key[0] for key in keys}), sa.ARRAY(sa.Uuid))
    visitors = sa.literal(sorted({"v:" + key[1] for key in keys}), sa.ARRAY(sa.Text))
    same = sa.and_(c.visitor_no == ID_NUMBERS.c.number, c.workspace_id == ID_NUMBERS.c.workspace_id)
    return (
        sa.select(*columns)
        .join_from(ID_NUMBERS, SESSIONS, same)
        .where(fn.InArray(ID_NUMBERS.c.workspace_id, workspaces), fn.InArray(ID_NUMBERS.c.id, visitors))
        .where(sa.not_(c.is_bot), c.from_device)
    )


def _to_session_state(
    first_at: datetime, landing_page: str | None, touch: Sequence[str | None] | None
) -> SessionState:
    source, medium, channel = touch or (None, None, None)
    return SessionState(
        first_at=to_utc(first_at),
        landing_page=landing_page,
        attribution_source=source,
        attribution_medium=medium,
        channel=channel,
    )


def _instant_of_position(position: Any) -> datetime:
    microseconds = int(position) // _SEQUENCE_NUMBERS_PER_MICROSECOND
    return to_utc(_EPOCH + timedelta(microseconds=microseconds))
