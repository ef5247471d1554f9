"""What intake asks about sessions before it enriches the next events."""

from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.rows import aware
from plugins.events_sql.tables import IDS, SESSIONS
from service_core.plugin import SessionKey, SessionState


def states(keys: Sequence[SessionKey], reader: Reader) -> dict[SessionKey, SessionState]:
    """The entry page, the values of the latest event and the latest campaign of each session."""
    asked = set(keys)
    stored: defaultdict[SessionKey, list[Any]] = defaultdict(list)
    for workspace_id, visitor, session_id, *facts in reader.rows(_stored(keys)):
        key = workspace_id, visitor.removeprefix("v:"), session_id
        if key in asked:
            stored[key].append(facts)
    return {key: _state(parts) for key, parts in stored.items()}


def _stored(keys: Sequence[SessionKey]) -> sa.Select[Any]:
    """What is stored of sessions that may be asked for: some of others too, by keys that are crossed."""
    c, texts = SESSIONS.c, sa.ARRAY(sa.Text)
    workspaces = sa.literal(sorted({key[0] for key in keys}), sa.ARRAY(sa.Uuid))
    visitors = sa.literal(sorted({"v:" + key[1] for key in keys}), texts)
    sessions = sa.literal(sorted({key[2] for key in keys}), texts)
    place = (c.first_at, c.first_seq, c.entry_landing_page)
    return (
        sa.select(IDS.c.workspace_id, IDS.c.id, c.session_id, *place)
        .add_columns(c.touch_at, c.touch, c.campaign_at, c.campaign)
        .join_from(IDS, SESSIONS, sa.and_(c.visitor_no == IDS.c.no, c.workspace_id == IDS.c.workspace_id))
        .where(fn.Listed(IDS.c.workspace_id, workspaces), fn.Listed(IDS.c.id, visitors))
        .where(fn.Listed(c.session_id, sessions))
    )


def _state(parts: list[Any]) -> SessionState:
    """A session from its one or two parts: people's and bots'."""
    first = min(parts, key=itemgetter(0, 1))
    touch = max(parts, key=itemgetter(3))[4]
    campaigns = [part for part in parts if part[5] is not None]
    return SessionState(
        first_at=aware(first[0]),
        landing_page=first[2],
        attribution_source=touch[0],
        attribution_medium=touch[1],
        channel=touch[2],
        last_campaign=tuple(max(campaigns, key=itemgetter(5))[6]) if campaigns else None,
    )
