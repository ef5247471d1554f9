"""Writes the lake of a workspace: only days that changed, new files first, then the manifest, then the old files go."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore
from service_core.analytics.freshness import QueueStateReader
from service_core.analytics.measures import FilterOperator, Predicate, Relation, count_rows
from service_core.analytics.ports import AggregateQuery, AggregateReader, QueryScope
from service_core.analytics.reads.export_streams import RowStreams
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.commerce.sync.ports import SyncLeases
from service_core.delivery.lake.columns import (
    EVENT_LAKE_COLUMNS,
    MONEY_TABLES,
    PARTITION_COLUMN,
    PAYMENTS,
    SCHEMA_VERSION,
    SPEND,
    LakeTable,
)
from service_core.delivery.lake.models import MANIFEST_NAME, LakeFile, LakeManifest, group_files_by_day
from service_core.delivery.lake.money_tables import (
    PAYMENT_REACH,
    SPEND_RESTATED,
    MoneyTableReader,
    spans_of_days,
)
from service_core.delivery.lake.ports import LakeStorage, ParquetFileFactory
from service_core.ingestion.ports import PersonalDataStore, SupersededEventStore
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.clock import Clock
from service_core.kernel.time_ranges import BucketUnit, TimeRange, whole_days_range
from service_core.kernel.wall_clock import day_start, local_date

ROWS_PER_FILE: Final = 250_000
"""A day with more events has several files."""

BYTES_PER_FILE: Final = 256_000_000
"""Bytes of events in memory that end a file."""

RECHECK_RECEIVED: Final = (timedelta(days=7), timedelta(days=8))
"""Days with events that reached this age of receipt since the last run are read again: addresses are cut after seven days."""

FULL_CHECK_INTERVAL: Final = timedelta(days=1)
"""How often every day is read again: what changes events in place, such as a re-enrichment, changes no count."""

LEASE_KIND: Final = "lake"
_LEASE_DURATION: Final = timedelta(minutes=5)
_EVENTS_FOLDER: Final = "events"
_NO_LIMIT: Final = 10**12
_MAX_AHEAD: Final = timedelta(days=1)
"""Events are dated ahead of the clock by less than this."""


_log: Final = logging.getLogger("touchpoint.lake")


class LakeBusy(Exception):
    """Another process writes the lake of this workspace."""


@dataclass(frozen=True, slots=True)
class LakeWriter:
    """Writes the lakes of workspaces.

    Attributes:
        storage: where the files go.
        credentials: the workspaces.
        streams, numbers, store: read events.
        superseded_events: events that are left out.
        queue: says up to when events are stored.
        last_erased_at: returns when the last person of a workspace was erased; then every day is read again.
        money: reads payments and spend.
        leases: let one process at a time write the lake of a workspace.
        create_file: opens a Parquet file.
        clock: returns the current time.
        rows_per_file: a file ends with the batch that reaches this number of events.
        bytes_per_file: or with the one that reaches this number of bytes in memory.
    """

    storage: LakeStorage
    credentials: CredentialStore
    streams: RowStreams
    numbers: AggregateReader
    store: PersonalDataStore
    superseded_events: SupersededEventStore
    queue: QueueStateReader
    last_erased_at: Callable[[UUID], Awaitable[datetime | None]]
    money: MoneyTableReader
    leases: SyncLeases
    create_file: ParquetFileFactory
    clock: Clock
    rows_per_file: int = ROWS_PER_FILE
    bytes_per_file: int = BYTES_PER_FILE

    async def write_due_lakes(self, interval: timedelta) -> list[LakeManifest]:
        """Writes the lakes whose last run is an interval ago, or was before an erasure; returns their manifests.

        A workspace that is not active any more gets no lake, but one it has stays true. A lake that cannot be written is logged
        and holds up no other.
        """
        written = []
        for workspace in await self.credentials.list_workspaces():
            try:
                if await self._is_due(workspace, interval):
                    written.append(await self.write_lake(workspace))
            except LakeBusy:
                continue
            except Exception:  # noqa: BLE001 - whatever the store or the storage raised, the next run may succeed
                _log.exception("the lake of workspace %s was not written", workspace.public_id)
        return written

    async def _is_due(self, workspace: Workspace, interval: timedelta) -> bool:
        manifest = await read_manifest(self.storage, workspace)
        if manifest is None:
            return workspace.active
        is_old = self.clock() - manifest.written_at >= interval
        return is_old or await self._was_person_erased_since(workspace, manifest.written_at)

    async def write_lake(self, workspace: Workspace, *, check_all: bool = False) -> LakeManifest:
        """Writes the files of the days that changed, and the manifest; returns it.

        Args:
            workspace: whose events.
            check_all: read every day again, and store every file again.

        Raises:
            LakeBusy: another process writes it.
        """
        holder = uuid4()
        await self._acquire_or_renew_lease(workspace.id, holder)
        try:
            return await self._write_lake_with_lease(workspace, holder, check_all=check_all)
        finally:
            await self.leases.release_lease(workspace.id, LEASE_KIND, holder)

    async def _acquire_or_renew_lease(self, workspace_id: UUID, holder: UUID) -> None:
        now = self.clock()
        if not await self.leases.acquire_or_renew_lease(
            workspace_id, LEASE_KIND, holder, now, now + _LEASE_DURATION
        ):
            raise LakeBusy

    async def _write_lake_with_lease(
        self, workspace: Workspace, holder: UUID, *, check_all: bool
    ) -> LakeManifest:
        now = self.clock()
        oldest_waiting = (await self.queue.state()).oldest_received_at
        previous = await read_manifest(self.storage, workspace)
        reusable = await self._reusable_manifest(workspace, previous, now, check_all=check_all)
        counts = await self._count_events_by_day(workspace)
        changed = await self._changed_days(workspace, reusable, counts)
        kept = reusable.files_by_day() if reusable else {}
        present = await self._list_stored_files(workspace, reusable)
        stored = set() if check_all else present
        files: list[LakeFile] = []
        for day in sorted(counts):
            if day in changed:
                await self._acquire_or_renew_lease(workspace.id, holder)
                files += await self._write_day(workspace, day, holder, stored)
            else:
                files += kept[day]
        emptied = kept.keys() - counts.keys()
        days_by_table = {
            PAYMENTS: _days_around(changed | emptied, PAYMENT_REACH),
            SPEND: await self._changed_spend_days(workspace, reusable),
        }
        tables = {
            table.name: await self._write_table(
                table, workspace, days, previous=reusable, holder=holder, stored=stored
            )
            for table, days in days_by_table.items()
        }
        superseded = await self._count_superseded(workspace)
        await self._acquire_or_renew_lease(workspace.id, holder)
        manifest = LakeManifest(
            workspace_id=workspace.public_id,
            timezone=workspace.timezone,
            as_of=now if oldest_waiting is None else min(now, oldest_waiting),
            written_at=now,
            checked_at=reusable.checked_at if reusable else now,
            left_out={"superseded": superseded},
            files=tuple(files),
            tables=tables,
        )
        await self.storage.write_file(f"{workspace.public_id}/{MANIFEST_NAME}", manifest.to_json())
        for path in sorted(present - manifest.paths):
            await self._acquire_or_renew_lease(workspace.id, holder)
            await self.storage.delete_file(f"{workspace.public_id}/{path}")
        return manifest

    async def _list_stored_files(self, workspace: Workspace, reusable: LakeManifest | None) -> set[str]:
        """Returns the paths of a manifest that is kept; for a full check those of the storage, interrupted runs included."""
        if reusable is not None:
            return reusable.paths
        folder = f"{workspace.public_id}/"
        return {
            path.removeprefix(folder)
            for table in (_EVENTS_FOLDER, *(table.name for table in MONEY_TABLES))
            for path in await self.storage.list_files(f"{folder}{table}")
        }

    async def _reusable_manifest(
        self, workspace: Workspace, previous: LakeManifest | None, now: datetime, *, check_all: bool
    ) -> LakeManifest | None:
        """Returns the last manifest if its files may be kept without reading their events again."""
        if previous is None or check_all:
            return None
        is_same_layout = (previous.schema_version, previous.timezone) == (SCHEMA_VERSION, workspace.timezone)
        is_old = now - previous.checked_at >= FULL_CHECK_INTERVAL
        if (
            is_old
            or not is_same_layout
            or await self._was_person_erased_since(workspace, previous.written_at)
        ):
            return None
        return previous

    async def _was_person_erased_since(self, workspace: Workspace, instant: datetime) -> bool:
        last = await self.last_erased_at(workspace.id)
        return last is not None and last >= instant

    async def _changed_days(
        self, workspace: Workspace, previous: LakeManifest | None, counts: Mapping[date, int]
    ) -> set[date]:
        """Returns the days whose events may differ from the files: by their count, or by events received lately."""
        if previous is None:
            return set(counts)
        rows = {day: sum(file.rows for file in files) for day, files in previous.files_by_day().items()}
        youngest, oldest = RECHECK_RECEIVED
        new = await self._count_events_by_day(
            workspace, Predicate("received_at", FilterOperator.GTE, previous.as_of)
        )
        aged = await self._count_events_by_day(
            workspace,
            Predicate("received_at", FilterOperator.GTE, previous.as_of - oldest),
            Predicate("received_at", FilterOperator.LTE, self.clock() - youngest),
        )
        differing = {day for day, count in counts.items() if rows.get(day) != count}
        return differing | ((new.keys() | aged.keys()) & counts.keys())

    async def _count_events_by_day(self, workspace: Workspace, *conditions: Predicate) -> dict[date, int]:
        """Returns the number of events of each local day that has any, those of bots included."""
        first = await self.store.first_event_time_with_superseded(workspace.id)
        if first is None:
            return {}
        last_day = local_date(self.clock() + _MAX_AHEAD, workspace.zone)
        span = whole_days_range(local_date(first, workspace.zone), last_day, workspace.zone)
        query = AggregateQuery(
            replace(self._scope(workspace, span), filters=conditions),
            (count_rows(Relation.EVENTS),),
            buckets=buckets_covering(span, BucketUnit.DAY, workspace.zone),
        )
        rows: list[tuple[Any, ...]] = (await self.numbers.aggregate(query)).rows
        return {local_date(start, workspace.zone): count for start, count in rows if count}

    def _scope(self, workspace: Workspace, span: TimeRange) -> QueryScope:
        return replace(scope_for_workspace_without_bots(workspace, span), include_bots=True)

    async def _write_day(
        self, workspace: Workspace, day: date, holder: UUID, stored: Collection[str]
    ) -> list[LakeFile]:
        """Writes the files of a day but those that are stored with the same content; returns all of them."""
        span = TimeRange(day_start(day, workspace.zone), day_start(day + timedelta(days=1), workspace.zone))
        files = []
        async for content, rows in self._encode_files(self._scope(workspace, span)):
            files.append(
                await self._store_file(workspace, _EVENTS_FOLDER, day, content, rows=rows, stored=stored)
            )
            await self._acquire_or_renew_lease(workspace.id, holder)
        return files

    async def _store_file(
        self,
        workspace: Workspace,
        folder: str,
        day: date,
        content: bytes,
        *,
        rows: int,
        stored: Collection[str],
    ) -> LakeFile:
        """Stores a file of a day, unless it is stored with the same content; returns it."""
        digest = hashlib.sha256(content).hexdigest()
        path = f"{folder}/{PARTITION_COLUMN}={day}/{digest[:32]}.parquet"
        if path not in stored:
            await self.storage.write_file(f"{workspace.public_id}/{path}", content)
        return LakeFile(path, day, rows, len(content), digest)

    async def _write_table(
        self,
        table: LakeTable,
        workspace: Workspace,
        days: Collection[date],
        *,
        previous: LakeManifest | None,
        holder: UUID,
        stored: Collection[str],
    ) -> tuple[LakeFile, ...]:
        """Writes the files of some days of a table, in place of those of the last manifest; returns those of all days."""
        read = self.money.read_payments if table is PAYMENTS else self.money.read_spend
        kept = group_files_by_day(previous.tables.get(table.name, ())) if previous else {}
        by_day = {day: files for day, files in kept.items() if day not in days}
        for first, last in spans_of_days(days):
            for day, batch in (await read(workspace, first, last)).items():
                if day not in days:
                    continue
                file = self.create_file(table.columns)
                rows = await asyncio.to_thread(file.add_rows, batch)
                content = await asyncio.to_thread(file.encode)
                by_day[day] = (
                    await self._store_file(workspace, table.name, day, content, rows=rows, stored=stored),
                )
            await self._acquire_or_renew_lease(workspace.id, holder)
        return tuple(file for day in sorted(by_day) for file in by_day[day])

    async def _changed_spend_days(self, workspace: Workspace, previous: LakeManifest | None) -> set[date]:
        """Returns the days whose spend may differ from the files: lately restated ones, and those with another number of rows."""
        counts = await self.money.count_spend_by_day(workspace)
        if previous is None:
            return set(counts)
        rows = {file.day: file.rows for file in previous.tables.get(SPEND.name, ())}
        restated = local_date(self.clock(), workspace.zone) - SPEND_RESTATED
        return {
            day for day in counts.keys() | rows.keys() if day >= restated or counts.get(day) != rows.get(day)
        }

    async def _encode_files(self, scope: QueryScope) -> AsyncIterator[tuple[bytes, int]]:
        """Yields the files of a scope and their number of rows; files of the same events are the same."""
        file, rows = self.create_file(EVENT_LAKE_COLUMNS), 0
        async with aclosing(self.streams.stream_events_newest_first(scope, _NO_LIMIT)) as batches:
            async for batch in batches:
                rows += await asyncio.to_thread(file.add_rows, batch)
                if rows >= self.rows_per_file or file.memory_bytes >= self.bytes_per_file:
                    yield await asyncio.to_thread(file.encode), rows
                    file, rows = self.create_file(EVENT_LAKE_COLUMNS), 0
        if rows:
            yield await asyncio.to_thread(file.encode), rows

    async def _count_superseded(self, workspace: Workspace) -> int:
        count = 0
        async with aclosing(self.superseded_events.stream_superseded_events(workspace.id)) as batches:
            async for some in batches:
                count += len(some)
        return count


def _days_around(days: Collection[date], reach: timedelta) -> set[date]:
    return {day + timedelta(days=offset) for day in days for offset in range(-reach.days, reach.days + 1)}


async def read_manifest(storage: LakeStorage, workspace: Workspace) -> LakeManifest | None:
    """Returns the manifest of a workspace; None if there is no lake yet."""
    content = await storage.read_file(f"{workspace.public_id}/{MANIFEST_NAME}")
    return None if content is None else LakeManifest.from_json(content)


async def delete_lake(storage: LakeStorage, workspace: Workspace) -> None:
    """Deletes the lake of a workspace, the manifest first."""
    await storage.delete_file(f"{workspace.public_id}/{MANIFEST_NAME}")
    for path in await storage.list_files(workspace.public_id):
        await storage.delete_file(path)
