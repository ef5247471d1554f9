"""Writes while PostgreSQL is killed or hangs under them: what was answered is there, and everything is there once."""

import asyncio
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from service_core.analytics.ports import StoreUnavailable
from service_core.changes.audit_log import AuditFilter
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.errors import Conflict
from tests.fixtures.notes import NOTE_TYPE, NOW, NoteClient, create_note_client, open_workspace_store

pytestmark = pytest.mark.faults
WRITERS = 4
PAUSE_SECONDS = 0.05


class RetryingWriter:
    """Creates notes one after the other, each until it is answered, as a client that retries."""

    def __init__(self, api_client, name):
        self.desk, self.name = api_client, name
        self.answered, self.refused = {}, 0

    async def work(self, stop):
        while not stop.is_set():
            name = f"{self.name} {len(self.answered)}"
            await self._until_answered(self.desk.once(name, {"note": {"name": name}}), name)

    async def _until_answered(self, sender, name):
        while name not in self.answered:
            try:
                self.answered[name] = (await sender.create(name)).audit_id
            except StoreUnavailable:
                self.refused += 1
                await asyncio.sleep(PAUSE_SECONDS)
            except Conflict:  # in progress: what was sent before may still come about
                await asyncio.sleep(PAUSE_SECONDS)


async def kill_server(server, _writers):
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


async def suspend_server(server, writers):
    """It goes on when every writer was told that it is unknown what became of its write."""
    await asyncio.to_thread(server.suspend)
    reported = [writer.refused for writer in writers]
    async with asyncio.timeout(100):
        while any(writer.refused == before for writer, before in zip(writers, reported, strict=True)):
            await asyncio.sleep(0.01)
    await asyncio.to_thread(server.resume)


@pytest.mark.parametrize("harm", [kill_server, suspend_server])
async def test_killed_or_suspended_database_loses_and_duplicates_no_answered_write(
    postgres_server, tmp_path, is_full_run, harm
):
    stop, url = asyncio.Event(), postgres_server.url
    hurried = f"{url}?timeout_seconds=0.5" if harm is suspend_server else url
    async with (
        open_workspace_store(url, tmp_path) as patient,
        open_workspace_store(hurried, tmp_path) as one,
        open_workspace_store(hurried, tmp_path) as other,
    ):
        api_client = await create_note_client(patient.transactions, patient)
        writers = [
            RetryingWriter(api_client.at(store.transactions), f"note {n}")
            for n, store in enumerate([one, other] * (WRITERS // 2))
        ]
        async with asyncio.TaskGroup() as at_work:
            for writer in writers:
                at_work.create_task(writer.work(stop))
            for _ in range(20 if is_full_run else 2):
                await asyncio.sleep(random.uniform(0.1, 0.5))
                await harm(postgres_server, writers)
            stop.set()
        answered = {name: audit for writer in writers for name, audit in writer.answered.items()}
        kept = [note["name"] for note in await api_client.notes()]
    assert sorted(kept) == sorted(answered)
    assert len(set(answered.values())) == len(answered) > 0


async def test_unanswered_commit_is_unknown_and_a_retry_returns_its_outcome(postgres_server, tmp_path):
    async def hang(_records, _before, _after):
        postgres_server.suspend()

    url = postgres_server.url
    async with (
        open_workspace_store(url, tmp_path) as store,
        open_workspace_store(f"{url}?timeout_seconds=3", tmp_path) as hurried,
    ):
        api_client = await create_note_client(store.transactions, store)
        last = NoteClient(
            ChangeExecutor(hurried.transactions, [replace(NOTE_TYPE, on_change=hang)]), api_client.caller
        )
        with pytest.raises(StoreUnavailable):
            await last.once("k").create("Plan")
        postgres_server.resume()
        writer = RetryingWriter(api_client, "retry")
        await writer._until_answered(api_client.once("k"), "Plan")
        async with store.transactions.read(api_client.caller.workspace.id) as unit:
            (entry,) = await unit.audit.list_entries(AuditFilter(until=NOW + timedelta(days=1)), 10, 0)
        assert writer.answered == {"Plan": entry.id}
        assert len(await api_client.notes()) == 1
