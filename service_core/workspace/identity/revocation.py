"""The identity links of an event, and their revocation."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.measures import FilterOperator, Predicate
from service_core.analytics.people.identity_resolution import (
    previous_user_id_of_alias_event,
    web_visitor_of_email_match_event,
)
from service_core.analytics.ports import EventPageQuery, EventReader
from service_core.analytics.scope import scope_for_caller
from service_core.changes.change_executor import ChangeExecutor, ChangePlanner
from service_core.changes.envelope import Envelope
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import new_record_fields
from service_core.changes.resource import RecordReader
from service_core.ingestion.models import Event
from service_core.ingestion.ports import EventStore
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.operations import HandlerResponse
from service_core.kernel.time_ranges import TimeRange
from service_core.workspace.identity.models import RevokedIdentityLink

_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
_CLOCK_SKEW: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class IdentityFacts:
    """The ids that an event links.

    Attributes:
        user_id: the user id, if the event has one.
        device_ids: device ids that it links to the user id, or to each other.
        previous_id: user id that an alias links to the new one.
        external_ids: namespace and id, as ``NAMESPACE:ID``.
    """

    user_id: str | None
    device_ids: tuple[str, ...]
    previous_id: str | None
    external_ids: tuple[str, ...]

    @classmethod
    def from_event(cls, event: Event) -> "IdentityFacts":
        """Returns the links of an event; a bot has none."""
        if event.is_bot:
            return cls(None, (), None, ())
        web = web_visitor_of_email_match_event(event)
        matched = (event.visitor_id, web) if web else ()
        external = tuple(f"{namespace}:{id_}" for namespace, id_ in (event.external_ids or {}).items())
        return cls(
            event.strong_id,
            event.weak_ids_joined_to_strong_id or matched,
            previous_user_id_of_alias_event(event),
            external,
        )

    @property
    def has_links(self) -> bool:
        """Whether it links any ids."""
        return bool(self.device_ids or self.previous_id or self.external_ids)


async def find_newest_event(caller: Caller, event_id: str, event_reader: EventReader) -> Event | None:
    """Returns the newest event of the workspace with this id; None when there is none."""
    by_id = Predicate("event_id", FilterOperator.EQ, event_id)
    scan = scope_for_caller(
        caller, TimeRange(_EARLIEST, caller.now + _CLOCK_SKEW), filters=(by_id,), include_bots=True
    )
    events = (await event_reader.list_events(EventPageQuery(scan, limit=1, count_total=False))).events
    return events[0] if events else None


async def find_revocation(records: RecordReader, event_id: str) -> RevokedIdentityLink | None:
    """Returns the revocation of the links of an event; None when they are not revoked."""
    revocations = await records.list_all(RevokedIdentityLink, field_filters={"name": event_id})
    return revocations[0] if revocations else None


async def revoke_identity_links(
    caller: Caller,
    event_id: str,
    *,
    changes: ChangeExecutor,
    event_reader: EventReader,
    event_store: EventStore,
) -> HandlerResponse[Envelope]:
    """Revokes the identity links of an event, as if it had never been sent.

    The revocation is recorded before the event store applies it. When the event store fails, the same call again
    applies it.

    Raises:
        NotFound: the workspace has no such event.
        Conflict: the event links no ids.
        StoreUnavailable: the event store cannot be reached.
    """
    event = await find_newest_event(caller, event_id, event_reader)
    if event is None:
        raise NotFound
    if not IdentityFacts.from_event(event).has_links:
        raise Conflict("This event links no ids")
    reply = await changes.preview_or_apply_change(
        caller, _plan_revocation_unless_revoked(caller, event), dry_run=False
    )
    await event_store.revoke_identity_link(caller.workspace.id, event_id)
    return reply


def _plan_revocation_unless_revoked(caller: Caller, event: Event) -> ChangePlanner:
    async def record_revocation_unless_present(transaction: Transaction) -> Change:
        existing = await find_revocation(transaction.resources, event.event_id)
        if existing is not None:
            return Change(Action.REVOKE, existing, existing)
        new = RevokedIdentityLink(
            **new_record_fields(caller),
            name=event.event_id,
            event_name=event.event_name,
            happened_at=event.timestamp,
        )
        return Change(Action.REVOKE, None, new, GENERATED_FIELDS)

    return record_revocation_unless_present
