"""A consumer appends over a socket what it would append to the open store itself."""

import asyncio
import socket
from dataclasses import replace
from random import Random

import pytest

from hosts.backup.write_lock import WriteLock
from hosts.composition.compose import load_installed_registry_once
from hosts.remote_event_store import messages
from hosts.remote_event_store.client import RemoteEventStore
from hosts.remote_event_store.server import serve_event_store
from service_core.analytics.ports import ConversionSet, EventPageQuery, QueryScope, StoreUnavailable
from service_core.ingestion.event_source import WEB
from service_core.ingestion.ports import SessionState
from service_core.testing.event_builder import EventBuilder, utc_instant, whole_utc_days
from service_core.testing.random_datasets import random_dataset

SPAN = whole_utc_days("2025-01-01", "2026-12-31")
ADAPTER = load_installed_registry_once().adapter_for_url_scheme("events", "duckdb:///events.db")


@pytest.fixture
async def open_store(tmp_path):
    """Opens an event store file by name."""
    opened = []

    async def open_named(name):
        url = f"duckdb:///{name}.db?threads=1"
        store = load_installed_registry_once().open_adapter("events", url, base_folder=tmp_path)
        await store.start()
        opened.append(store)
        return store

    yield open_named
    for store in opened:
        await store.aclose()


@pytest.fixture
async def connect():
    """Connects a consumer to a store; the task of the owner ends with the connection."""
    started = []

    async def connect(store, encode_batch=ADAPTER.encode_batch, on_disconnect=lambda: None):
        own_end, passed_end = socket.socketpair()
        serving = asyncio.create_task(serve_event_store(own_end, store))
        remote = RemoteEventStore(passed_end, encode_batch, on_disconnect)
        await remote.start()
        started.append((serving, remote))
        return remote

    yield connect
    for serving, remote in started:
        await remote.aclose()
        await serving


async def stored_events(store, workspaces):
    """Every column of every event."""
    found = []
    for workspace in sorted(workspaces):
        scope = QueryScope(workspace, SPAN, "USD", "UTC", ConversionSet(frozenset()), include_bots=True)
        found += (await store.list_events(EventPageQuery(scope, 10_000))).events
    return found


@pytest.mark.parametrize("seed", range(2))
async def test_remote_appends_store_the_rows_of_direct_appends(open_store, connect, seed):
    direct, owner = await open_store("direct"), await open_store("owner")
    remote = await connect(owner)
    random = Random(seed)
    events = list(random_dataset(random, 80).builder.events)
    first, second = events[: len(events) // 2], events[len(events) // 3 :]
    for batch in (first, second, second[:5]):
        assert await remote.append(batch) == await direct.append(batch)
    workspaces = {event.workspace_id for event in events}
    assert await stored_events(owner, workspaces) == await stored_events(direct, workspaces) != []
    keys = [(event.workspace_id, event.visitor_id, event.session_id) for event in events]
    states = await remote.session_states(keys)
    assert states == await direct.session_states(keys) != {}
    for workspace in workspaces:
        ids = [event.event_id for event in events]
        assert await remote.find_events_by_id(workspace, ids) == await owner.find_events_by_id(workspace, ids)


async def test_remote_append_keeps_the_events_that_one_with_a_key_supersedes(open_store, connect):
    owner = await open_store("owner")
    remote = await connect(owner)
    builder = EventBuilder()
    builder.add_event("purchase", at="2026-03-02T15:00", visitor="A", source=WEB, event_id="order")
    keyless = builder.events[-1]
    keyed = replace(keyless, seq=keyless.seq + 1, source="api")
    assert await remote.append([keyless, keyed]) == 1
    assert await stored_events(owner, {keyed.workspace_id}) == [keyed]
    [[kept]] = [batch async for batch in owner.stream_superseded_events(keyed.workspace_id)]
    assert (kept.event, kept.superseded_by) == (keyless, keyed.seq)


async def test_failure_of_the_store_is_an_outage_and_the_next_request_is_answered(connect, caplog):
    class Store:
        calls = 0

        async def append_encoded(self, batch):
            self.calls += 1
            if self.calls == 1:
                raise OSError("the disk is full")
            return len(batch)

    remote = await connect(Store(), encode_batch=lambda events: b"x" * len(events))
    with pytest.raises(StoreUnavailable):
        await remote.append([1, 2, 3])
    assert await remote.append([1, 2, 3]) == 3
    assert await remote.append([]) == 0
    assert [bool(line.exc_info) for line in caplog.records] == [True]


async def test_failed_read_is_not_named_a_write(connect):
    class Store:
        async def session_states(self, keys):
            raise OSError("the disk is full")

    remote = await connect(Store())
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        await remote.session_states([(EventBuilder().workspace_id, "visitor", "session")])


async def test_consumer_learns_that_the_owner_of_the_store_has_gone():
    own_end, passed_end = socket.socketpair()
    gone = []
    remote = RemoteEventStore(passed_end, lambda _: b"batch", lambda: gone.append(True))
    await remote.start()
    own_end.close()
    with pytest.raises(StoreUnavailable):
        await remote.append([1])
    assert gone == [True]
    await remote.aclose()


async def test_backup_pause_holds_back_batches_of_the_consumer(connect):
    class Store:
        async def append_encoded(self, batch):
            return len(batch)

        def __getattr__(self, name):
            return self.append_encoded

    lock = WriteLock()
    remote = await connect(lock.wrap_if_event_store("events", Store()), lambda _: b"batch")
    async with lock.paused():
        appending = asyncio.create_task(remote.append([1]))
        done, _ = await asyncio.wait({appending}, timeout=0.1)
        assert not done
    assert await appending == 5


def test_session_states_survive_the_message():
    key = (EventBuilder().workspace_id, "visitor", "session")
    whole = SessionState(
        utc_instant("2026-03-02T15:00"),
        "/",
        "google",
        "cpc",
        "paid_search",
        ("a", None),
        utc_instant("2026-03-01"),
    )
    states = {key: whole, (*key[:2], "other"): SessionState(None)}
    assert messages.decode_session_states(messages.encode_session_states(states)) == states
    assert messages.decode_session_keys(messages.encode_session_keys(list(states))) == list(states)
