"""Reads the session states that ingestion needs to enrich the next events."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

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
    campaigns: dict[tuple[UUID, str], tuple[tuple[str | None, ...], datetime]] = {}
    rows = runner.fetch_rows(_sessions_and_latest_campaigns(keys))
    for workspace_id, prefixed_id, session_id, campaign, campaign_at, place, *facts in rows:
        visitor = workspace_id, prefixed_id.removeprefix("v:")
        if (key := (*visitor, session_id)) in wanted:
            states[key] = _to_session_state(*facts)
        if place == 1 and campaign_at is not None:
            campaigns[visitor] = tuple(campaign), _instant_of_position(campaign_at)
    for key in wanted if campaigns else ():
        if (latest := campaigns.get(key[:2])) is not None:
            state = states.get(key, SessionState(None))
            states[key] = replace(state, last_campaign=latest[0], last_campaign_at=latest[1])
    return states


def _sessions_and_latest_campaigns(keys: Sequence[SessionKey]) -> sa.Select[Any]:
    """Selects visits of the visitors: those of the given sessions, and each visitor's latest with campaign values.

    The first are those of all combinations of the given workspaces, visitors and sessions; callers drop the others. One
    statement, because finding the numbers of thousands of visitors costs more than all else.
    """
    c = SESSIONS.c
    workspaces = sa.literal(sorted({key[0] for key in keys}), sa.ARRAY(sa.Uuid))
    visitors = sa.literal(sorted({"v:" + key[1] for key in keys}), sa.ARRAY(sa.Text))
    sessions = sa.literal(sorted({key[2] for key in keys}), sa.ARRAY(sa.Text))
    begins_with_system_event = sa.and_(
        fn.TextStartsWith(c.entry_event_name, sa.literal("$")),
        sa.not_(name_in(c.entry_event_name, PAGE_VIEWS)),
    )
    latest_first = sa.func.row_number().over(
        partition_by=c.visitor_no, order_by=c.campaign_at.desc().nulls_last()
    )
    same = sa.and_(c.visitor_no == ID_NUMBERS.c.number, c.workspace_id == ID_NUMBERS.c.workspace_id)
    visits = (
        sa.select(
            ID_NUMBERS.c.workspace_id,
            ID_NUMBERS.c.id,
            c.session_id,
            c.campaign,
            c.campaign_at,
            latest_first.label("place"),
            c.first_at,
            sa.case((sa.not_(begins_with_system_event), c.entry_landing_page)).label("landing_page"),
            c.touch,
        )
        .join_from(ID_NUMBERS, SESSIONS, same)
        .where(fn.InArray(ID_NUMBERS.c.workspace_id, workspaces), fn.InArray(ID_NUMBERS.c.id, visitors))
        .where(sa.not_(c.is_bot), c.from_device)
        .subquery("visits")
    )
    is_latest = sa.and_(visits.c.place == 1, visits.c.campaign_at.is_not(None))
    return sa.select(visits).where(sa.or_(fn.InArray(visits.c.session_id, sessions), is_latest))


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
