"""Erases persons: everywhere they are stored, with a certificate that names what was removed and what changed."""

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore
from service_core.analytics.freshness import QueueStateReader
from service_core.analytics.install_attribution.models import visit_key
from service_core.analytics.measures import Aggregation, Column, FilterOperator, Predicate, Relation
from service_core.analytics.people.ports import PersonReader
from service_core.analytics.ports import AggregateQuery, AggregateReader
from service_core.delivery.exports.models import ACTIVE_STATES, ExportStatus
from service_core.delivery.exports.ports import ExportJobs, Exports, ExportStorage
from service_core.ingestion.models import Event, ReceivedEvent
from service_core.ingestion.ports import PersonalDataStore, Quarantine, SupersededEventStore
from service_core.kernel.clock import Clock
from service_core.privacy.find_person import (
    FoundPerson,
    all_time_scope,
    find_person_with_events,
    list_superseded_events_of_person,
)
from service_core.privacy.import_files import ImportChanged, PersonalImportFiles
from service_core.privacy.models import Erasure, ErasureStatus, PersonSubject, digest_id
from service_core.privacy.ports import Erasures, PersonalRecords
from service_core.privacy.received_events import mentions_person

_KIND: Final = Column("kind")
_NUMBERS: Final[Mapping[str, Aggregation]] = {
    "events": Aggregation(Relation.EVENTS),
    "visitors": Aggregation(Relation.EVENTS, Column("visitor_id"), distinct=True),
    "persons": Aggregation(Relation.EVENTS, Column("person"), distinct=True),
    "sessions": Aggregation(Relation.SESSIONS),
    "conversions": Aggregation(Relation.CONVERSIONS),
    "orders": Aggregation(Relation.PAYMENTS, where=(Predicate(_KIND, FilterOperator.EQ, "charge"),)),
    "revenue": Aggregation(
        Relation.PAYMENTS, Column("amount"), where=(Predicate(_KIND, FilterOperator.EQ, "charge"),)
    ),
    "refunds": Aggregation(
        Relation.PAYMENTS, Column("amount"), where=(Predicate(_KIND, FilterOperator.EQ, "refund"),)
    ),
}
"""The numbers that a certificate compares, over all time and without bots; money is in minor units."""

_MAX_EXPORTS: Final = 10_000

KeepTombstone = Callable[[Erasure], Awaitable[None]]
"""Stores the tombstone of a completed erasure where backups lie."""


class PersonErasure:
    """Completes requested erasures. An erasure that was interrupted is repeated as a whole.

    ``keep_tombstone`` is called before an erasure is saved as completed, so that a crash loses no tombstone.
    """

    def __init__(
        self,
        *,
        erasures: Erasures,
        credentials: CredentialStore,
        people: PersonReader,
        numbers: AggregateReader,
        store: PersonalDataStore,
        superseded_events: SupersededEventStore,
        queue: QueueStateReader,
        quarantine: Quarantine,
        records: PersonalRecords,
        exports: Exports,
        export_jobs: ExportJobs,
        export_files: ExportStorage,
        clock: Clock,
        import_files: PersonalImportFiles,
        keep_tombstone: KeepTombstone,
    ) -> None:
        self._erasures = erasures
        self._credentials = credentials
        self._people = people
        self._numbers = numbers
        self._store = store
        self._superseded_events = superseded_events
        self._queue = queue
        self._quarantine = quarantine
        self._records = records
        self._exports = exports
        self._export_jobs = export_jobs
        self._export_files = export_files
        self._clock = clock
        self._import_files = import_files
        self._keep_tombstone = keep_tombstone

    async def complete_requested_removals(self) -> list[Erasure]:
        """Completes the erasures that nothing has to be waited for, and returns them.

        An erasure waits until the events received before its request are stored, and until running exports and imports
        are done.
        """
        workspaces = {workspace.id: workspace for workspace in await self._credentials.list_workspaces()}
        completed = []
        for erasure in await self._erasures.list_requested_erasures():
            workspace = workspaces[erasure.workspace_id]
            if await self._has_running_export(workspace) or await self._may_get_events(workspace, erasure):
                continue
            try:
                done = await self._erase_everywhere_and_certify(workspace, erasure)
            except ImportChanged:
                continue
            await self._keep_tombstone(done)
            await self._erasures.save_erasure(done)
            completed.append(done)
        return completed

    async def _may_get_events(self, workspace: Workspace, erasure: Erasure) -> bool:
        """Returns whether events wait that were received before the request, or came from an import that has begun."""
        imported = await self._import_files.latest_end_unless_running(workspace.id)
        oldest = (await self._queue.state()).oldest_received_at
        return imported is None or (oldest is not None and oldest <= max(erasure.requested_at, imported))

    async def _has_running_export(self, workspace: Workspace) -> bool:
        exports = await self._exports.list_exports(workspace.id, _MAX_EXPORTS)
        now = self._clock()
        return any(export.state_at(now).status in ACTIVE_STATES for export in exports)

    async def _erase_everywhere_and_certify(self, workspace: Workspace, erasure: Erasure) -> Erasure:
        before = await self._measure(workspace)
        found = await self._find_person_or_persons_of_tombstone(workspace, erasure)
        subject = found.subject
        import_files = await self._import_files.delete_files_about(workspace.id, subject)
        events = (*found.events, *await self._list_superseded_events(workspace, erasure, subject))
        removed: dict[str, Mapping[str, int]] = {
            "event_store": await self._store.delete_events(workspace.id, [event.seq for event in events]),
            "workspace_store": await self._records.erase_personal_records(workspace.id, subject),
            "quarantine": {"events": await self._erase_quarantined(workspace, subject)},
            "import_files": import_files,
            "export_files": {"files": await self._delete_export_files(workspace)},
        }
        after = await self._measure(workspace)
        now = self._clock()
        certificate = _build_certificate(erasure, removed, found, now) | {
            "numbers_changed": [
                {"metric": name, "before": before[name], "after": after[name]}
                for name in before
                if before[name] != after[name]
            ],
            "numbers_unchanged": [name for name in before if before[name] == after[name]],
        }
        return replace(
            erasure,
            person_id=None,
            status=ErasureStatus.COMPLETED,
            completed_at=now,
            id_digests=tuple(
                sorted({*erasure.id_digests, *(digest_id(erasure.salt, id_) for id_ in subject.ids)})
            ),
            certificate=certificate | {"digest": digest_certificate(certificate)},
        )

    async def _find_person_or_persons_of_tombstone(
        self, workspace: Workspace, erasure: Erasure
    ) -> FoundPerson:
        """Returns the person of a request, or everybody whom the digests of a tombstone name."""
        if erasure.person_id is not None:
            return await find_person_with_events(self._people, workspace, erasure.person_id)
        digests = frozenset(erasure.id_digests)
        persons: dict[str, FoundPerson] = {}
        ids: set[str] = set()
        for id_ in await self._store.list_ids(workspace.id):
            if digest_id(erasure.salt, id_) in digests:
                ids.add(id_)
                found = await find_person_with_events(self._people, workspace, id_)
                persons |= dict.fromkeys(found.persons, found)
        events = {
            event.seq: event
            for found in persons.values()
            for event in found.events
            if event.received_at <= erasure.requested_at
        }
        ids = ids.union(*(found.subject.ids for found in persons.values()))
        return FoundPerson(
            tuple(persons),
            tuple(events.values()),
            PersonSubject(
                frozenset(id_ for id_ in ids if digest_id(erasure.salt, id_) in digests),
                frozenset(event.event_id for event in events.values()),
                frozenset(event.ip for event in events.values() if event.ip is not None),
                frozenset(map(visit_key, events.values())),
            ),
        )

    async def _list_superseded_events(
        self, workspace: Workspace, erasure: Erasure, subject: PersonSubject
    ) -> list[Event]:
        """Returns the superseded events of a person; for a tombstone those received before it was requested."""
        superseded = await list_superseded_events_of_person(self._superseded_events, workspace, subject)
        return [
            each.event
            for each in superseded
            if erasure.person_id is not None or each.event.received_at <= erasure.requested_at
        ]

    async def _measure(self, workspace: Workspace) -> dict[str, Any]:
        scope = replace(all_time_scope(workspace), include_bots=False)
        result = await self._numbers.aggregate(AggregateQuery(scope, tuple(_NUMBERS.values())))
        (row,) = result.rows
        return dict(zip(_NUMBERS, row, strict=True))

    async def _erase_quarantined(self, workspace: Workspace, subject: PersonSubject) -> int:
        def delete_if_mentioned(event: ReceivedEvent) -> ReceivedEvent | None:
            if event.workspace_id != workspace.id:
                return event
            return None if mentions_person(event.body, subject) else event

        changed = await self._quarantine.rewrite_quarantined(delete_if_mentioned)
        return changed.get(workspace.id, 0)

    async def _delete_export_files(self, workspace: Workspace) -> int:
        """Deletes all finished files of the workspace: a file cannot be searched for a person."""
        deleted = 0
        for export in await self._exports.list_exports(workspace.id, _MAX_EXPORTS):
            if export.status is not ExportStatus.COMPLETED:
                continue
            for name in export.file_names:
                await self._export_files.delete(name)
            deleted += await self._export_jobs.replace_export_if_unchanged(export, export.end_by_timeout())
        return deleted


def _build_certificate(
    erasure: Erasure, removed: Mapping[str, Mapping[str, int]], found: FoundPerson, now: datetime
) -> dict[str, Any]:
    return {
        "erasure_id": str(erasure.id),
        "workspace_id": str(erasure.workspace_id),
        "requested_by": erasure.requested_by,
        "requested_at": erasure.requested_at.isoformat(),
        "completed_at": now.isoformat(),
        "persons": len(found.persons),
        "ids": len(found.subject.ids),
        "removed": {place: dict(sorted(Counter(counts).items())) for place, counts in removed.items()},
    }


def digest_certificate(certificate: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of a certificate without its ``digest``, as JSON with sorted keys and without blanks."""
    content = {name: value for name, value in certificate.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
