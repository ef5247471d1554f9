"""Enqueues entries: the checks of `/track`, many offers at once, a count per outcome."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

import orjson

from hosts.data_import.time_shift import shift_timestamp
from service_core.access.models import Credential
from service_core.delivery.imports.models import ImportMark
from service_core.ingestion.event_time import REPLACED, replace_or_clamp_event_time
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.import_sources.reconciliation import SheetDays, add_row_outcomes_by_day
from service_core.ingestion.imported_ids import is_reserved_for_imports, row_id_of_import
from service_core.ingestion.models import (
    IMPORT_HEADER,
    PROVIDER_HEADER,
    IngestEndpoint,
    ReceivedEvent,
    RejectionReason,
)
from service_core.ingestion.ports import EnqueueResult, IngestQueue
from service_core.ingestion.validation import (
    EVENT_ID_FIELDS,
    ValidatedEvent,
    validate_name_and_identity,
)
from service_core.kernel.clock import Clock
from service_core.kernel.ids import new_id

MAX_CONCURRENT: Final = 1_000
"""Entries offered at once: they share commits, and the import remembers its position after each batch."""


class EventImporter:
    """Enqueues entries under the write key of a workspace.

    Args:
        queue: where events go, the same as those of `/track`.
        key: the workspace's write key; the ledger counts the import under it.
        clock: receipt time of every entry.
        shift: what is added to every timestamp.
        mark: of the import; None leaves its events unmarked.
        sheet: the reconciliation sheet of the entries before.
    """

    def __init__(
        self,
        queue: IngestQueue,
        key: Credential,
        clock: Clock,
        shift: timedelta | None = None,
        *,
        mark: ImportMark | None = None,
        sheet: SheetDays = MappingProxyType({}),
    ) -> None:
        self._queue = queue
        self._key = key
        self._clock = clock
        self._shift = shift
        self._mark = mark
        self.sheet = sheet
        self.outcomes: Counter[str] = Counter()
        self.received_now = 0
        """Accepted events that take the time of their receipt, since theirs is too old or cannot be read."""

    async def enqueue_in_batches(
        self, entries: Iterable[ImportEntry], on_batch: Callable[[list[ImportEntry]], Awaitable[None] | None]
    ) -> None:
        """Enqueues every entry; a thread reads the file, one batch at a time.

        Args:
            entries: in the order of the file.
            on_batch: called with each batch once it is durable, and awaited if it returns something to await.

        Raises:
            EnqueueFailed: the queue takes nothing; what was offered before stays.
        """
        remaining = iter(entries)
        while batch := await asyncio.to_thread(lambda: list(islice(remaining, MAX_CONCURRENT))):
            outcomes = await asyncio.gather(*map(self._enqueue_or_count_rejection, batch))
            self.outcomes.update(outcomes)
            self.sheet = add_row_outcomes_by_day(self.sheet, batch, outcomes)
            if (saving := on_batch(batch)) is not None:
                await saving

    async def _enqueue_or_count_rejection(self, entry: ImportEntry) -> str:
        if entry.body is None:
            return entry.skip_reason or "not an event"
        outcomes = [await self._enqueue_body(entry, body) for body in (entry.body, *entry.further_bodies)]
        return next((outcome for outcome in outcomes if outcome == EnqueueResult.QUEUED.value), outcomes[0])

    async def _enqueue_body(self, entry: ImportEntry, sent: Mapping[str, Any]) -> str:
        body = _with_row_ids(sent if self._shift is None else shift_timestamp(sent, self._shift))
        verdict = validate_name_and_identity(body)
        if isinstance(verdict, RejectionReason):
            await self._queue.count_rejected(
                self._key.workspace_id, self._key.id, IngestEndpoint.TRACK, verdict, self._clock()
            )
            return verdict.value
        arrival = self._build_event_with_fallback_id(entry, body, verdict)
        offer = await self._queue.offer(arrival)
        if offer is EnqueueResult.QUEUED:
            self.received_now += (
                replace_or_clamp_event_time(body.get("timestamp"), arrival.received_at)[1] == REPLACED
            )
        return offer.value

    def _build_event_with_fallback_id(
        self, entry: ImportEntry, body: object, validated: ValidatedEvent
    ) -> ReceivedEvent:
        event_id, headers = validated.event_id or entry.event_id, entry.headers
        if self._mark is not None:
            headers = {**headers, IMPORT_HEADER: str(self._mark.import_id)}
            event_id = event_id and self._mark.claimed_id(event_id)
        is_of_provider = PROVIDER_HEADER in entry.headers
        return ReceivedEvent(
            workspace_id=self._key.workspace_id,
            key_id=self._key.workspace_id if is_of_provider else self._key.id,
            channel=IngestEndpoint.WEBHOOK if is_of_provider else IngestEndpoint.TRACK,
            event_id=event_id or str(new_id()),
            claimed=event_id is not None,
            received_at=self._clock(),
            body=orjson.dumps(body),
            user_agent=entry.user_agent,
            address=entry.address,
            headers=headers,
        )


def _with_row_ids(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a body whose event ids are those of rows: an exported event may have come in by an import itself."""
    imported = {
        name: row_id_of_import(body[name])
        for name in EVENT_ID_FIELDS
        if isinstance(body.get(name), str) and is_reserved_for_imports(body[name])
    }
    return {**body, **imported} if imported else body
