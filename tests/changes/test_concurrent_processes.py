"""The write pipeline of two processes over one database: two stores that share nothing else."""

import asyncio
from collections import Counter

import pytest

from service_core.kernel.errors import ApiError, Conflict
from tests.fixtures.notes import create_note_client, open_workspace_store


@pytest.fixture
async def clients_of_two_processes(workspace_url, tmp_path):
    """The same person at the desks of two processes."""
    async with (
        open_workspace_store(workspace_url, tmp_path) as one,
        open_workspace_store(workspace_url, tmp_path) as other,
    ):
        api_client = await create_note_client(one.transactions, one)
        yield api_client, api_client.at(other.transactions)


def count_outcomes(found):
    """What each of several requests came to: the code of its refusal, or the write it told of."""
    return Counter(one.code if isinstance(one, ApiError) else one.audit_id for one in found)


async def test_identical_request_conflicts_while_another_process_runs_it(
    clients_of_two_processes,
):
    one, other = (api_client.once("k", {"note": {}}) for api_client in clients_of_two_processes)
    reached, going_on = asyncio.Event(), asyncio.Event()
    plan = one.creation("Plan")

    async def slow(unit):
        reached.set()
        await going_on.wait()
        return await plan(unit)

    first = asyncio.create_task(one.run(slow))
    await reached.wait()
    with pytest.raises(Conflict) as refused:
        await other.create()
    assert (refused.value.code, refused.value.headers) == ("idempotency_in_progress", {"Retry-After": "1"})
    going_on.set()
    performed = (await first).body
    again = await other.create()
    assert again.audit_id == performed.audit_id
    assert len(await other.notes()) == 1


async def test_one_of_50_identical_requests_to_two_processes_is_executed(clients_of_two_processes):
    senders = [
        api_client.once("k", {"note": {}}) for api_client in clients_of_two_processes for _ in range(25)
    ]
    found = await asyncio.gather(*(sender.create() for sender in senders), return_exceptions=True)
    result = count_outcomes(found)
    result.pop("idempotency_in_progress", None)
    assert len(result) == 1
    assert len(await clients_of_two_processes[0].notes()) == 1


async def test_one_of_20_undos_by_two_processes_succeeds(clients_of_two_processes):
    one, other = clients_of_two_processes
    made = await one.create("Plan", "draft")
    changed = await one.update(made.data["id"], text="final")
    other.later(minutes=1)
    undos = (api_client.undo(changed.audit_id) for api_client in (one, other) * 10)
    result = count_outcomes(await asyncio.gather(*undos, return_exceptions=True))
    assert result.pop("already_undone") == 19
    assert list(result.values()) == [1]
    assert [note["text"] for note in await other.notes()] == ["draft"]


async def test_one_of_20_creates_with_one_name_by_two_processes_succeeds(clients_of_two_processes):
    made = (api_client.create("Plan") for api_client in clients_of_two_processes for _ in range(10))
    result = count_outcomes(await asyncio.gather(*made, return_exceptions=True))
    assert result.pop("slug_taken") == 19
    assert len(result) == len(await clients_of_two_processes[0].notes()) == 1
