"""What an event says of ids, and how that is taken back."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from service_core.access.model import Caller
from service_core.changes.envelope import Envelope
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born
from service_core.changes.ports import Transaction
from service_core.changes.resource import Records
from service_core.changes.write import Plan, Writes
from service_core.insight.measures import Op, Predicate
from service_core.insight.ports import EventLog, EventPage
from service_core.insight.scans import scan_of
from service_core.insight.stitch import mailed_visitor, previous_id
from service_core.intake.model import Event
from service_core.intake.ports import EventStore
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.operations import Reply
from service_core.kernel.ranges import Span
from service_core.workspace.identity.model import RevokedLink

_EVER: Final = datetime(2000, 1, 1, tzinfo=UTC)
_AHEAD: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Said:
    """What an event says of ids (semantics 5.3 to 5.6).

    Attributes:
        user_id: the strong id, if it has one.
        devices: ids it joins to that one, or to each other.
        previous_id: the user id that an alias joins to the new one.
        external_ids: namespace and id, as ``stripe:cus_1``.
    """

    user_id: str | None
    devices: tuple[str, ...]
    previous_id: str | None
    external_ids: tuple[str, ...]

    @classmethod
    def by(cls, event: Event) -> "Said":
        """What one event says; of a bot nothing counts."""
        if event.is_bot:
            return cls(None, (), None, ())
        web = mailed_visitor(event)
        matched = (event.visitor_id, web) if web else ()
        external = tuple(f"{space}:{one}" for space, one in (event.external_ids or {}).items())
        return cls(event.strong_id, event.weak_ids or matched, previous_id(event), external)

    @property
    def joins(self) -> bool:
        """Whether it joins anything."""
        return bool(self.devices or self.previous_id or self.external_ids)


async def event_of(who: Caller, event_id: str, log: EventLog) -> Event | None:
    """The event of a workspace with this id, the newest if several came with it; None when there is none."""
    named = Predicate("event_id", Op.EQ, event_id)
    scan = scan_of(who, Span(_EVER, who.now + _AHEAD), filters=(named,), include_bots=True)
    found = (await log.page(EventPage(scan, limit=1, total=False))).events
    return found[0] if found else None


async def revoked_of(records: Records, event_id: str) -> RevokedLink | None:
    """How the links of an event were taken back; None when they were not."""
    found = await records.every(RevokedLink, matching={"name": event_id})
    return found[0] if found else None


async def revoke(
    who: Caller, event_id: str, *, writes: Writes, log: EventLog, store: EventStore
) -> Reply[Envelope]:
    """Take the links of an event back: people part as if it had never said them.

    It is written down before it is done, so nothing is done that nobody knows of. When the store of events does not
    follow, the same once more makes it.

    Raises:
        NotFound: the workspace has no such event.
        Conflict: the event joins no ids.
        StoreUnavailable: the events are away.
    """
    event = await event_of(who, event_id, log)
    if event is None:
        raise NotFound
    if not Said.by(event).joins:
        raise Conflict("This event joins no ids")
    reply = await writes.run(who, _plan(who, event), dry_run=False)
    await store.revoke_link(who.workspace.id, event_id)
    return reply


def _plan(who: Caller, event: Event) -> Plan:
    async def plan(unit: Transaction) -> Change:
        before = await revoked_of(unit.resources, event.event_id)
        if before is not None:
            return Change(Action.REVOKE, before, before)
        new = RevokedLink(
            **born(who), name=event.event_id, event_name=event.event_name, happened_at=event.timestamp
        )
        return Change(Action.REVOKE, None, new, ASSIGNED)

    return plan
