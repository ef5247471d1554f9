"""The switches themselves: which call fails, when, and what of it took effect."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from service_core.testing.fault_injection import FaultInjector, fail_each_call, with_faults


@dataclass(frozen=True)
class RecordTransaction:
    rows: "RecordStore"
    others: "RecordStore"


class RecordStore:
    def __init__(self):
        self.kept = []

    async def start(self):
        self.kept.append("started")

    async def save(self, row):
        self.kept.append(row)
        return len(self.kept)

    def count(self):
        return len(self.kept)

    async def batches(self):
        for row in self.kept:
            yield row

    @asynccontextmanager
    async def begin(self):
        draft = RecordStore()
        yield RecordTransaction(draft, self)
        self.kept += draft.kept


async def write_in_transaction(store):
    async with store.begin() as unit:
        await unit.rows.save("a")
        await unit.rows.save("b")


async def test_chosen_call_fails_and_the_others_pass():
    store, faults = RecordStore(), FaultInjector(call_number=2)
    faulty_store = with_faults(store, faults)
    await faulty_store.start()
    assert (await faulty_store.save("a"), faulty_store.count()) == (2, 2)
    with pytest.raises(OSError, match="went away"):
        await faulty_store.save("b")
    assert await faulty_store.save("c") == 3
    assert (store.kept, faults.calls, faults.has_failed) == (["started", "a", "c"], ["save"] * 3, True)


async def test_call_can_fail_after_taking_effect():
    store = RecordStore()
    with pytest.raises(OSError, match="went away"):
        await with_faults(store, FaultInjector(call_number=1, fail_after_effect=True)).save("a")
    assert store.kept == ["a"]


async def test_unavailable_store_stays_unavailable_until_restored():
    faults = FaultInjector(
        call_number=1,
        persistent=True,
        error=lambda: ConnectionError("refused"),
        only_methods=frozenset({"save"}),
    )
    faulty_store = with_faults(RecordStore(), faults)
    for _ in range(3):
        with pytest.raises(ConnectionError, match="refused"):
            await faulty_store.save("a")
    assert [row async for row in faulty_store.batches()] == []
    faults.stop_faults()
    assert await faulty_store.save("a") == 1


@pytest.mark.parametrize("after", [False, True])
async def test_transaction_is_atomic_whichever_call_fails(after):
    found = []

    async def run(faults):
        store = RecordStore()
        try:
            await write_in_transaction(with_faults(store, faults))
        except OSError:
            found.append((faults.calls[-1], store.kept))
        else:
            assert (faults.has_failed, store.kept) == (False, ["a", "b"])

    assert await fail_each_call(run, fail_after_effect=after) == 4
    kept = ["a", "b"] if after else []
    assert found == [("begin", []), ("save", []), ("save", []), ("begin/commit", kept)]


async def test_stream_breaks_at_the_chosen_batch():
    store = RecordStore()
    store.kept = ["a", "b"]
    batches = with_faults(store, FaultInjector(call_number=2)).batches()
    assert await anext(batches) == "a"
    with pytest.raises(OSError, match="went away"):
        await anext(batches)


async def test_endless_fault_loop_is_reported():
    async def run(faults):
        faults.calls += ["save"] * faults.call_number

    with pytest.raises(AssertionError, match="there were more"):
        await fail_each_call(run)
