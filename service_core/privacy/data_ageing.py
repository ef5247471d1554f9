"""Removes personal data whose retention is over: IP addresses after 7 days, events after the age a workspace sets."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service_core.access.ports import CredentialStore
from service_core.ingestion.ports import PersonalDataStore, Quarantine, WaitingEvents
from service_core.kernel.clock import Clock
from service_core.privacy.received_events import truncate_addresses
from service_core.workspace.links.ports import ClickStore

ADDRESS_RETENTION: Final = timedelta(days=7)
"""How long an IP address is kept whole."""

_FULL_SCAN_INTERVAL: Final = timedelta(days=1)
_OVERLAP: Final = timedelta(days=1)
"""Events that waited in the queue are stored later than they were received."""


@dataclass(frozen=True, slots=True)
class AgedData:
    """Counts of what one run of `PersonalDataAgeing` removed.

    Attributes:
        cut_addresses: number of events whose address was cut.
        cut_waiting: number of events that wait in the queue and whose addresses were cut.
        cut_quarantined: number of quarantined events whose addresses were cut.
        deleted_events: number of deleted events by workspace.
    """

    cut_addresses: int
    cut_waiting: int
    cut_quarantined: int
    deleted_events: dict[UUID, int]


class PersonalDataAgeing:
    """Cuts old IP addresses in events, stored or not, and clicks, and deletes events past the age of a workspace."""

    def __init__(
        self,
        *,
        store: PersonalDataStore,
        waiting: WaitingEvents,
        quarantine: Quarantine,
        clicks: ClickStore,
        credentials: CredentialStore,
        clock: Clock,
    ) -> None:
        self._store = store
        self._waiting = waiting
        self._quarantine = quarantine
        self._clicks = clicks
        self._credentials = credentials
        self._clock = clock
        self._scanned_at: datetime | None = None

    async def run(self) -> AgedData:
        """Removes everything whose retention is over now. A second run at the same time changes nothing."""
        now = self._clock()
        before = now - ADDRESS_RETENTION
        await self._clicks.purge_click_ips(before)
        is_full = self._scanned_at is None or now - self._scanned_at >= _FULL_SCAN_INTERVAL
        cut = await self._store.truncate_addresses(before, None if is_full else before - _OVERLAP)
        if is_full:
            self._scanned_at = now
        waiting = await self._waiting.rewrite_waiting(before, truncate_addresses)
        quarantined = await self._quarantine.rewrite_quarantined(
            lambda event: truncate_addresses(event) if event.received_at < before else event
        )
        return AgedData(cut, waiting, sum(quarantined.values()), await self._delete_old_events(now))

    async def _delete_old_events(self, now: datetime) -> dict[UUID, int]:
        """Deletes events older than the age of their workspace, by whole UTC days, so that it has work once a day."""
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        deleted = {}
        for workspace in await self._credentials.list_workspaces():
            days = workspace.rules.event_retention_days
            if days is None:
                continue
            before = today - timedelta(days=days)
            first = await self._store.first_event_time_with_superseded(workspace.id)
            if first is not None and first < before:
                deleted[workspace.id] = await self._store.delete_events_before(workspace.id, before)
        return deleted
