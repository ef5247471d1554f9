"""Append on ClickHouse, which has no transactions: every step may be repeated and changes nothing then.

Events go in first, in one block with a token of its own, without those that are stored already. What
follows from them is worked out anew for the sessions and visitors of the batch, from all their events,
and replaces what stood there: a batch that was cut short is whole once it is sent again, and of two
writers the one that saw more wins.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Protocol, runtime_checkable
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql import caches
from plugins.events_sql.conditions import Expression
from plugins.events_sql.engine import Reader
from plugins.events_sql.links import MATCHED, said
from plugins.events_sql.persons import parts_of
from plugins.events_sql.rows import aware, naive, stored
from plugins.events_sql.tables import (
    CANDIDATES,
    COMPUTED,
    COMPUTED_BY,
    EVENTS,
    IDS,
    KIN,
    MAILS,
    OWNERS,
    PERSONS,
    REVOKED,
    SESSIONS,
    TOLD,
    WEAK_LINKS,
    Number,
)
from service_core.plugin import COLUMNS, REPEAT, Event, tells_mail

_FRESH: Final = sa.table(
    "fresh",
    sa.column("workspace_id", sa.Uuid),
    sa.column("event_id", sa.Text),
    sa.column("received_at", sa.DateTime),
)
_TOUCHED: Final = sa.table("touched", sa.column("no", Number))
"""Sessions of a batch, and later visitors that change hands."""

_NAMED: Final = sa.table(
    "named", sa.column("workspace_id", sa.Uuid), sa.column("id", sa.Text), sa.column("no", Number)
)
"""The ids of a batch: to look them up among all there are would cost more with every visitor."""

_OWN: Final = sa.table("own", *(sa.column(c.name, c.type) for c in EVENTS.columns))
"""The events of these sessions."""


@runtime_checkable
class Filling(Protocol):
    """What a session does beside answering."""

    def fill(self, table: sa.TableClause, rows: Sequence[Sequence[Any]]) -> None:
        """Keep rows as a table of the session."""

    def insert(self, table: sa.Table, rows: Sequence[Sequence[Any]], token: str) -> None:
        """Add rows in one block; one with a token that came before is left out."""


def append(writer: Reader, events: Sequence[Event]) -> int:
    """Store what is new of a batch; the number of new rows."""
    from plugins.events_sql.batches import each_once  # noqa: PLC0415 - loads the data frame library

    new = _unknown(writer, each_once(events, REPEAT.total_seconds()))
    named = [(workspace, name, number(workspace, name)) for workspace, name in _named(events)]
    insert(writer, IDS, named)
    _session_of(writer).fill(_NAMED, named)
    if new:
        insert(writer, EVENTS, list(map(_row, new)), token=_token(new))
    for workspace in {event.workspace_id for event in events}:
        _follow(writer, workspace, [event for event in events if event.workspace_id == workspace])
    return len(new)


def _follow(writer: Reader, workspace: UUID, events: Sequence[Event]) -> None:
    """Bring what follows from the events of a workspace up to date."""
    version = _version(writer)
    _touch(writer, {_session(event) for event in events})
    span = _spanned(writer, workspace, events)
    writer.keep(_OWN.name, sa.select(EVENTS).where(*_touched(EVENTS, workspace, span)))
    weak = caches.weak_links_of(_OWN, _NAMED)
    for table, found in (
        (SESSIONS, caches.sessions_of(_OWN)),
        (TOLD, caches.told_of(_OWN)),
        (WEAK_LINKS, weak),
        (KIN, caches.kin_of(_OWN, weak.subquery("weak"))),
        (MAILS, caches.mails_of(_OWN)),
    ):
        _replace(writer, version, table, found, [])
    stood = _touched(CANDIDATES, workspace, span)
    _replace(writer, version, CANDIDATES, caches.candidates_of(_OWN), stood)
    relinked = _relinked(writer, workspace, events)
    _relink(writer, version, workspace, relinked)
    if (
        any(any(said(event)[::2]) for event in events)
        or (relinked and _has_ids(writer, workspace))
        or (any(map(tells_mail, events)) and _is_seeking(writer, workspace))
    ):
        _restitch(writer, version, workspace)


def revoke(writer: Reader, workspace_id: UUID, event_id: str) -> None:
    """Remove the links an event made, now and should it come only later (semantics 5.9)."""
    insert(writer, REVOKED, [(workspace_id, event_id)])
    linked = [
        sa.select(table.c.visitor_no).where(
            table.c.workspace_id == workspace_id, table.c.event_id == event_id
        )
        for table in (EVENTS, WEAK_LINKS)
    ]
    version = _version(writer)
    found = writer.rows(sa.union(*linked))
    _relink(writer, version, workspace_id, {visitor for (visitor,) in found})
    _restitch(writer, version, workspace_id)


def renew(writer: Reader) -> None:
    """Work out anew what follows from the events, if another version of this code did last."""
    if writer.rows(sa.select(COMPUTED.c.code)) == [(COMPUTED_BY,)]:
        return
    if writer.rows(sa.select(EVENTS.c.seq).limit(1)):
        rebuild(writer)
    mine = sa.select(sa.literal(COMPUTED_BY, sa.BigInteger).label("code"))
    _replace(writer, _version(writer), COMPUTED, mine, [sa.true()])


def rebuild(writer: Reader) -> None:
    """Work out anew what follows from the events, workspace by workspace."""
    for (workspace,) in writer.rows(sa.select(IDS.c.workspace_id).distinct()):
        version = _version(writer)
        own, weak = _of(EVENTS, workspace), _of(WEAK_LINKS, workspace)
        for table, rows in (
            (SESSIONS, caches.sessions_of(own)),
            (CANDIDATES, caches.candidates_of(own)),
            (TOLD, caches.told_of(own)),
            (WEAK_LINKS, caches.weak_links_of(own)),
            (KIN, caches.kin_of(own, weak)),
            (MAILS, caches.mails_of(own)),
            (OWNERS, caches.owners_of(caches.links_of(own, weak).subquery("links_of"))),
        ):
            _replace(writer, version, table, rows, [table.c.workspace_id == workspace])
        _restitch(writer, version, workspace)


def number(workspace: UUID, name: str) -> int:
    """The number of an id, or of a session: 127 bits of a digest, so nobody has to hand them out."""
    digest = blake2b(workspace.bytes + name.encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big") >> 1


def _session(event: Event) -> int:
    return number(event.workspace_id, f"s:{len(event.visitor_id)}:{event.visitor_id}{event.session_id}")


def _named(events: Iterable[Event]) -> set[tuple[UUID, str]]:
    """Every id that events tell."""
    named = set()
    for event in events:
        previous, web_visitor, _ = said(event)
        told = [("v:", event.visitor_id), ("u:", event.strong_id), ("u:", previous), ("v:", web_visitor)]
        told += [("v:", weak) for weak in _weak_ids(event)]
        named |= {(event.workspace_id, prefix + name) for prefix, name in told if name is not None}
    return named


def _weak_ids(event: Event) -> set[str]:
    """Weak ids that an event joins its strong id to."""
    return set() if event.is_bot else set(event.weak_ids)


def _unknown(writer: Reader, events: Sequence[Event]) -> list[Event]:
    """Events that are not stored yet, received less than 7 days apart."""
    _session_of(writer).fill(_FRESH, [(e.workspace_id, e.event_id, e.received_at) for e in events])
    c, received = EVENTS.c, [event.received_at for event in events]
    key = sa.tuple_(c.workspace_id, c.event_id).in_(sa.select(_FRESH.c.workspace_id, _FRESH.c.event_id))
    since, until = sa.literal(naive(min(received) - REPEAT)), sa.literal(naive(max(received) + REPEAT))
    known = sa.select(c.workspace_id, c.event_id, c.received_at).where(
        c.received_at > since, c.received_at < until, key
    )
    stored: defaultdict[tuple[UUID, str], list[datetime]] = defaultdict(list)
    for workspace, event_id, at in writer.rows(known):
        stored[workspace, event_id].append(aware(at))
    return [
        event
        for event in events
        if all(abs(event.received_at - at) >= REPEAT for at in stored[event.workspace_id, event.event_id])
    ]


def _row(event: Event) -> list[Any]:
    strong = None if event.strong_id is None else number(event.workspace_id, f"u:{event.strong_id}")
    visitor = number(event.workspace_id, f"v:{event.visitor_id}")
    return [*(stored(f.name, getattr(event, f.name)) for f in COLUMNS), visitor, strong, _session(event)]


def _token(events: Iterable[Event]) -> str:
    """What names a block: sent again because an answer was lost, it is left out."""
    digest = blake2b(digest_size=16)
    for event in events:
        digest.update(f"{event.workspace_id}{event.event_id}{event.seq}\n".encode())
    return digest.hexdigest()


def _touch(writer: Reader, numbers: Iterable[int]) -> None:
    _session_of(writer).fill(_TOUCHED, [(no,) for no in numbers])


def _spanned(writer: Reader, workspace: UUID, events: Sequence[Event]) -> tuple[datetime, datetime]:
    """The first and the last instant of the touched sessions, as they were and with the batch."""
    c = SESSIONS.c
    own = (c.workspace_id == workspace, c.session_no.in_(sa.select(_TOUCHED.c.no)))
    ((first, last),) = writer.rows(sa.select(sa.func.min(c.first_at), sa.func.max(c.last_at)).where(*own))
    instants = [naive(event.timestamp) for event in events]
    instants += [naive(aware(at)) for at in (first, last) if at is not None]
    return min(instants), max(instants)


def _touched(table: sa.Table, workspace: UUID, span: tuple[datetime, datetime]) -> list[Expression]:
    """The rows of the touched sessions; looked for only in the time they span."""
    c, (first, last) = table.c, span
    inside = [c.timestamp >= sa.literal(first), c.timestamp <= sa.literal(last)]
    return [c.workspace_id == workspace, *inside, c.session_no.in_(sa.select(_TOUCHED.c.no))]


def _version(writer: Reader) -> int:
    """What replaces everything older, asked before anything is read: the higher one has seen more."""
    ((version,),) = writer.text("SELECT toUnixTimestamp64Micro(now64(6)) * 2")
    return int(version)


def _replace(
    writer: Reader, version: int, table: sa.Table, found: sa.SelectBase, where: list[Expression]
) -> None:
    """Put rows of a derived table in the place of those under some conditions; with none, beside them."""
    names = [c.name for c in table.columns]
    rows: Any = sa.select(*found.subquery("found").c, sa.literal(version + 1), sa.literal(0))
    if where:
        gone = sa.select(*table.c, sa.literal(version), sa.literal(1)).where(*where)
        rows = sa.union_all(gone, rows)
    target = sa.table(table.name, *(sa.column(name) for name in (*names, "version", "is_deleted")))
    writer.rows(sa.insert(target).from_select([c.name for c in target.columns], rows))


def _relinked(writer: Reader, workspace: UUID, events: Iterable[Event]) -> set[int]:
    """Visitors with a link among the events that is not one more to the only person they ever had."""
    linked: defaultdict[int, set[int]] = defaultdict(set)
    for event in events:
        for one in _weak_ids(event):
            linked[number(workspace, f"v:{one}")].add(number(workspace, f"u:{event.strong_id}"))
    if not linked:
        return set()
    _touch(writer, linked)
    o, owned = OWNERS.c, defaultdict(set)
    own = (o.workspace_id == workspace, o.visitor_no.in_(sa.select(_TOUCHED.c.no)))
    for visitor, strong in writer.rows(sa.select(o.visitor_no, o.strong_no).where(*own)):
        owned[visitor].add(strong)
    return {visitor for visitor, strong in linked.items() if len(strong) > 1 or owned[visitor] != strong}


def _relink(writer: Reader, version: int, workspace: UUID, visitors: set[int]) -> None:
    """Work out anew whose the events of some visitors are."""
    if not visitors:
        return
    _touch(writer, visitors)
    touched = sa.select(_TOUCHED.c.no)
    links = caches.links_of(_of(EVENTS, workspace), _of(WEAK_LINKS, workspace), touched)
    told = [OWNERS.c.workspace_id == workspace, OWNERS.c.visitor_no.in_(touched)]
    _replace(writer, version, OWNERS, caches.owners_of(links.subquery("links_of")), told)


def _of(table: sa.Table, workspace: UUID) -> sa.Subquery:
    return sa.select(table).where(table.c.workspace_id == workspace).subquery(f"own_{table.name}")


def _has_ids(writer: Reader, workspace: UUID) -> bool:
    """Whether a change of owners may change who is part of whom."""
    c = EVENTS.c
    told = sa.or_(c.external_ids.is_not(None), c.event_name == MATCHED)
    found = writer.rows(sa.select(c.event_id).where(c.workspace_id == workspace, told).limit(1))
    return bool(found) or _is_seeking(writer, workspace)


def _is_seeking(writer: Reader, workspace: UUID) -> bool:
    """Whether any visitor of a provider seeks a person by its e-mail."""
    c = MAILS.c
    return bool(writer.rows(sa.select(c.no).where(c.workspace_id == workspace, c.source != "").limit(1)))


def _restitch(writer: Reader, version: int, workspace: UUID) -> None:
    """Work out anew which ids are part of which person."""
    parts = parts_of(writer, workspace)
    old = writer.rows(sa.select(PERSONS.c.no, PERSONS.c.person_no).where(PERSONS.c.workspace_id == workspace))
    rows = [(workspace, no, person, version, 1) for no, person in old if no not in parts]
    rows += [(workspace, no, person, version + 1, 0) for no, person in parts.items()]
    insert(writer, PERSONS, rows)


def insert(writer: Reader, table: sa.Table, rows: Sequence[Sequence[Any]], token: str = "") -> None:
    """Add rows in one block; those of a derived table with their version, and whether they are gone."""
    _session_of(writer).insert(table, rows, token)


def _session_of(writer: Reader) -> Filling:
    session = writer.session
    assert isinstance(session, Filling)
    return session
