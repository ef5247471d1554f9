"""Append on engines with transactions: a batch becomes rows, and every cache follows with it.

Runs in the writer thread only. A replayed batch adds nothing: rows whose (workspace, event id) is
stored within seven days of receipt are left out before anything else is looked at.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import caches
from plugins.events_sql import increments as step
from plugins.events_sql.engine import Reader, Transactional
from plugins.events_sql.persons import refresh_persons
from plugins.events_sql.rows import naive
from plugins.events_sql.tables import COMPUTED, COMPUTED_BY, EVENTS, IDS, PERSONS, REVOKED, WEAK_LINKS
from service_core.plugin import REPEAT, Event, tells_mail


def append(writer: Reader, events: Sequence[Event], note: Callable[[Reader], None] = lambda _: None) -> int:
    """Store what is new of a batch, in one transaction; the number of new rows.

    Args:
        writer: of the writer thread.
        events: the batch.
        note: what else to write in the same transaction once there are new rows.
    """
    from plugins.events_sql.batches import each_once  # noqa: PLC0415 - loads the data frame library

    received = [event.received_at for event in events]
    session = transactional(writer)
    with session.transaction():
        session.load(each_once(events, REPEAT.total_seconds()))
        writer.keep("fresh", step.KEEP_FRESH)
        writer.rows(step.known(naive(min(received) - REPEAT), naive(max(received) + REPEAT)))
        new = int(writer.rows(step.COUNT_FRESH)[0][0])
        if new:
            _store(writer)
            note(writer)
            _follow(
                writer,
                telling=any(event.told for event in events),
                mailing=any(map(tells_mail, events)),
            )
    return new


def transactional(writer: Reader) -> Transactional:
    """The session of a writer whose engine has transactions."""
    session = writer.session
    assert isinstance(session, Transactional)
    return session


def _store(writer: Reader) -> None:
    """Give every id and session of the batch its number, a new one where it has none, and add the rows."""
    writer.keep("batch_ids", step.KEEP_IDS)
    writer.rows(step.ADD_IDS)
    writer.keep("visits", step.KEEP_VISITS)
    writer.keep("numbers", step.KEEP_NUMBERS)
    writer.keep("numbered", step.KEEP_NUMBERED)
    writer.rows(step.ADD_EVENTS)


def _follow(writer: Reader, *, telling: bool, mailing: bool) -> None:
    """Bring every cache up to date; most batches tell of no touch and of no e-mail."""
    writer.keep("parts", step.KEEP_PARTS)
    writer.keep("before", step.KEEP_BEFORE)
    writer.rows(step.TAKE_BEFORE)
    writer.rows(step.ADD_SESSIONS)
    writer.rows(step.ADD_CANDIDATES)
    writer.rows(step.TAKE_CANDIDATES)
    if telling:
        writer.rows(step.ADD_TOLD)
    writer.keep("weak", step.KEEP_WEAK)
    writer.rows(step.ADD_WEAK)
    writer.rows(step.ADD_KIN)
    writer.keep("relinked", step.KEEP_RELINKED)
    restitched = writer.rows(step.RESTITCHED if _relink(writer) else step.TELLING)
    if mailing:
        writer.keep("new_mails", step.KEEP_MAILS)
        writer.rows(step.ADD_MAILS)
        restitched += writer.rows(step.MAILED)
    refresh_persons(writer, {workspace for (workspace,) in restitched})


def _relink(writer: Reader) -> bool:
    """Work out anew whose the events of the visitors in ``relinked`` are; whether there are any."""
    if not writer.rows(step.ANY_RELINKED):
        return False
    writer.keep("links", step.KEEP_LINKS)
    writer.rows(step.TAKE_OWNERS)
    writer.rows(step.ADD_OWNERS)
    return True


def revoke(writer: Reader, workspace_id: UUID, event_id: str) -> None:
    """Remove the links an event made, now and should it come only later (semantics 5.9)."""
    linked = [
        sa.select(table.c.visitor_no).where(
            table.c.workspace_id == workspace_id, table.c.event_id == event_id
        )
        for table in (EVENTS, WEAK_LINKS)
    ]
    named = sa.select(sa.literal(workspace_id), sa.literal(event_id))
    with transactional(writer).transaction():
        writer.rows(step.into(REVOKED, named))
        writer.keep("relinked", sa.union(*linked))
        _relink(writer)
        refresh_persons(writer, [workspace_id])


def renew(writer: Reader) -> None:
    """Compute every cache anew if another version of this code computed them."""
    with transactional(writer).transaction():
        if writer.rows(sa.select(COMPUTED.c.code)) == [(COMPUTED_BY,)]:
            return
        if writer.rows(sa.select(EVENTS.c.seq).limit(1)):
            _compute(writer)
        writer.rows(sa.delete(COMPUTED))
        writer.rows(step.into(COMPUTED, sa.select(sa.literal(COMPUTED_BY, sa.BigInteger))))


def rebuild(writer: Reader) -> None:
    """Compute every cache anew from the events; the answers stay the same."""
    with transactional(writer).transaction():
        _compute(writer)


def _compute(writer: Reader) -> None:
    for cache, found in caches.ALL.items():
        writer.rows(sa.delete(cache))
        writer.rows(step.into(cache, found))
    writer.rows(sa.delete(PERSONS))
    every = writer.rows(sa.select(IDS.c.workspace_id).distinct())
    refresh_persons(writer, [workspace for (workspace,) in every])
