"""Event stores that are wrong in one thing, and the promise that catches each. The right one is the store in memory."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from plugins.events_memory.adapter import MemoryEventStore
from service_core.testing.event_store.append_events import AppendEvents
from service_core.testing.event_store.durability import Durability
from service_core.testing.event_store.imported_events import ImportedEvents
from service_core.testing.event_store.large_numbers import LargeNumbers
from service_core.testing.event_store.personal_data import PersonalData
from service_core.testing.event_store.reenrichment import Reenrichment
from tests.plugin_kits.wrong_plugin import WrongPlugin


class WrongStore(
    WrongPlugin, AppendEvents, Durability, PersonalData, ImportedEvents, Reenrichment, LargeNumbers
):
    time_limit_seconds = 0.3
    Plugin = MemoryEventStore

    @pytest.fixture
    def store(self):
        return self.Plugin()

    @pytest.fixture
    def open_store(self):
        disk = []

        @asynccontextmanager
        async def opened():
            store = self.Plugin()
            await store.restore(disk)
            yield store
            disk[:] = await store.save()

        return opened


class SavedStore(MemoryEventStore):
    """Keeps its events when it is closed."""

    async def restore(self, disk):
        await self.append(disk)

    async def save(self):
        return self._events


class TestRightSavedStore(Durability):
    """The right store, whose wrong ones follow."""

    Plugin = SavedStore
    store, open_store = WrongStore.store, WrongStore.open_store


class TestEventsAreForgottenOnRestart(WrongStore, promise="events_and_erasures_outlive_a_restart"):
    class Plugin(SavedStore):
        async def save(self):
            return []


class TestErasuresAreForgottenOnRestart(WrongStore, promise="events_and_erasures_outlive_a_restart"):
    class Plugin(SavedStore):
        async def append(self, events):
            self.log = [*getattr(self, "log", ()), *events]
            return await super().append(events)

        async def save(self):
            return self.log


class TestEventIdsAreForgottenOnRestart(WrongStore, promise="events_and_erasures_outlive_a_restart"):
    class Plugin(SavedStore):
        async def restore(self, disk):
            await super().restore(disk)
            self._received_at.clear()


class TestReadsHangAfterAnAppend(
    WrongStore, promise="reads_end_while_events_are_appended", raises=TimeoutError
):
    class Plugin(MemoryEventStore):
        locked = False

        async def append(self, events):
            self.locked = True
            return await super().append(events)

        async def aggregate(self, query):
            while self.locked:
                await asyncio.sleep(0.01)
            return await super().aggregate(query)


class TestConcurrentAppendsAreLost(WrongStore, promise="concurrent_appends_are_all_stored"):
    class Plugin(MemoryEventStore):
        async def append(self, events):
            before = [*self._events]
            await asyncio.sleep(0)
            self._events = before
            return await super().append(events)


class TestConcurrentRepeatsAreStored(WrongStore, promise="concurrent_appends_are_all_stored"):
    class Plugin(MemoryEventStore):
        async def append(self, events):
            known = {(event.workspace_id, event.event_id) for event in self._events}
            await asyncio.sleep(0)
            new = [event for event in events if (event.workspace_id, event.event_id) not in known]
            self._events += new
            return len(new)


class TestHalfABatchIsSeen(WrongStore, promise="reads_end_while_events_are_appended"):
    class Plugin(MemoryEventStore):
        async def append(self, events):
            stored = 0
            for event in events:
                stored += await super().append([event])
                await asyncio.sleep(0)
            return stored


class TestEventsAreSeenByOtherWorkspaces(
    WrongStore, promise="same_event_id_in_two_workspaces_is_stored_twice"
):
    class Plugin(MemoryEventStore):
        async def append(self, events):
            everybody = {event.workspace_id for event in events}
            return await super().append(
                [replace(event, workspace_id=one) for event in events for one in everybody]
            )


class TestErasureDeletesNothing(WrongStore, promise="person_whose_events_are_deleted_is_forgotten"):
    class Plugin(MemoryEventStore):
        async def delete_events(self, workspace_id, seqs):
            return {"events": len(seqs)}


class TestOldEventsStay(WrongStore, promise="events_before_a_time_are_deleted_and_the_rest_counts_alone"):
    class Plugin(MemoryEventStore):
        async def delete_events_before(self, workspace_id, before):
            return 2 if any(event.timestamp < before for event in self._events) else 0


class TestRepeatsAreStored(WrongStore, promise="event_id_is_stored_once_within_seven_days_of_receipt"):
    class Plugin(MemoryEventStore):
        async def append(self, events):
            self._received_at.clear()
            return await super().append(events)


class TestRepeatsAreLeftOutForEver(
    WrongStore, promise="event_id_is_stored_once_within_seven_days_of_receipt"
):
    class Plugin(MemoryEventStore):
        async def append(self, events):
            known = {event.event_id for event in self._events}
            return await super().append([event for event in events if event.event_id not in known])


class TestAddressesStay(
    WrongStore, promise="addresses_of_old_events_are_cut_and_the_rest_of_the_event_stays"
):
    class Plugin(MemoryEventStore):
        async def truncate_addresses(self, *request):
            return 5


class TestRemovalTakesEveryImport(WrongStore, promise="removed_import_is_forgotten_and_others_stay"):
    class Plugin(MemoryEventStore):
        async def delete_imported_events(self, workspace_id, import_id):
            imported = [event for event in self._events if "$import" in event.event_data]
            self._events = [event for event in self._events if event not in imported]
            return len(imported)


class TestMicrosecondsAreLost(WrongStore, promise="every_column_of_an_event_is_read_back_unchanged"):
    class Plugin(MemoryEventStore):
        async def append(self, events):
            return await super().append(
                [replace(event, timestamp=event.timestamp.replace(microsecond=0)) for event in events]
            )


class TestKeyDoesNotSupersede(WrongStore, promise="event_with_a_key_supersedes_one_without_of_the_same_id"):
    class Plugin(MemoryEventStore):
        def _move_superseded(self, event):
            return set()


class TestUpdateIsForgotten(
    WrongStore, promise="updated_columns_are_read_back_and_everything_derived_follows"
):
    class Plugin(MemoryEventStore):
        async def update_enriched_columns(self, workspace_id, events):
            return None
