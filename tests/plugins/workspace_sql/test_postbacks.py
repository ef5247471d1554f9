"""The outbox on each database: one row per rule and event, one process at a queue, counts by instants."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from service_core.analytics.postbacks.ports import PostbackCount, PostbackSummary
from service_core.delivery.postbacks.circuit_breaker import AccountHealth
from service_core.delivery.postbacks.postback import (
    Postback,
    SkipReason,
    mark_failed,
    mark_sent,
    mark_skipped,
    schedule_retry,
)
from service_core.kernel.ids import new_id
from tests.fixtures.notes import Note
from tests.plugins.workspace_sql.conftest import NOW

RULE = UUID(int=7)
WINDOWS = {RULE: timedelta(hours=48)}
WEEK = timedelta(days=7)


@pytest.fixture
def workspace_id(initialized_deployment):
    return initialized_deployment.workspace.id


def fired(workspace_id, order="o1", **fields):
    usual = {
        "id": new_id(), "workspace_id": workspace_id, "rule_id": RULE, "event_id": uuid4().hex, "event_at": NOW,
        "platform": "adhub", "account_id": "act_1", "asset_id": "p1", "platform_event": "Buy",
        "platform_event_id": order, "created_at": NOW, "next_attempt_at": NOW, "user_agent": "Firefox",
        "value": 1250, "currency": "EUR",
    }  # fmt: skip
    return Postback(**usual | fields)


async def waiting(store, workspace_id, now=NOW):
    queue = fired(workspace_id).queue
    return await store.postback_queues.list_due_postbacks(queue, now, 100)


async def test_a_postback_reads_back_as_it_was_put_there(directory, workspace_id):
    told = fired(workspace_id, is_custom=True, is_test=True, test_code="T1", request_masked={"event": "Buy"})
    await directory.postback_outbox.add_postbacks([told], WINDOWS)
    assert await waiting(directory, workspace_id) == [told]


async def test_what_two_processes_put_there_at_once_is_there_once(open_directory, directory, workspace_id):
    orders = [fired(workspace_id, f"o{number % 3}", event_id=f"e{number % 4}") for number in range(12)]
    async with open_directory() as other:
        tellers = (directory, other) * 6
        await asyncio.gather(
            *(
                store.postback_outbox.add_postbacks([one], WINDOWS)
                for store, one in zip(tellers, orders, strict=True)
            )
        )
        told = await other.postbacks.list_event_postbacks(workspace_id, {f"e{number}" for number in range(4)})
    assert sorted(told) == ["e0", "e1", "e2", "e3"]
    assert [len(found) for found in told.values()] == [1] * 4
    assert len(await waiting(directory, workspace_id)) <= 3


async def test_twins_of_one_batch_and_of_an_earlier_one_are_duplicates_and_tests_apart(
    directory, workspace_id
):
    tests = fired(workspace_id, is_test=True)
    await directory.postback_outbox.add_postbacks([fired(workspace_id), fired(workspace_id), tests], WINDOWS)
    await directory.postback_outbox.add_postbacks(
        [fired(workspace_id), fired(workspace_id, event_at=NOW - WEEK)], WINDOWS
    )
    assert len(await waiting(directory, workspace_id)) == 3
    counts = await directory.postbacks.count_postbacks(workspace_id, (NOW, NOW + WEEK))
    assert counts == [PostbackCount(0, "adhub", "skipped", 2)]


async def test_of_two_processes_one_has_a_queue_until_it_leaves_it_or_its_time_is_over(
    open_directory, directory, workspace_id
):
    one, other = uuid4(), uuid4()
    until = NOW + timedelta(minutes=5)
    await directory.postback_outbox.add_postbacks([fired(workspace_id)], WINDOWS)
    (queue,) = await directory.postback_queues.list_due_queues(NOW)
    async with open_directory() as process:
        took = await asyncio.gather(
            directory.postback_queues.claim_queue(queue, one, NOW, until),
            process.postback_queues.claim_queue(queue, other, NOW, until),
        )
        assert [state for state in took if state] == [AccountHealth()]
        holder, loser = (one, other) if took[0] else (other, one)
        assert await process.postback_queues.list_due_queues(NOW) == []
        assert await process.postback_queues.claim_queue(queue, holder, NOW, until) is not None
        await directory.postback_queues.release_queue(queue, loser, AccountHealth(failures=9), None)
        assert await process.postback_queues.list_due_queues(NOW) == []
        assert await process.postback_queues.claim_queue(queue, loser, until, until + WEEK) == AccountHealth()
        state = AccountHealth(3, NOW + WEEK, refused=True, counted_from=NOW, calls=7)
        await process.postback_queues.release_queue(queue, loser, state, None)
        assert await directory.postback_queues.list_due_queues(NOW + timedelta(days=6)) == []
        assert await directory.postback_queues.list_due_queues(NOW + WEEK) == [queue]
        assert await directory.postback_queues.claim_queue(queue, one, NOW + WEEK, NOW + WEEK) == state


async def test_a_queue_is_due_when_the_first_of_what_waits_is(directory, workspace_id):
    holder, minute = uuid4(), timedelta(minutes=1)
    first, second = fired(workspace_id), fired(workspace_id, "o2")
    await directory.postback_outbox.add_postbacks([first, second], WINDOWS)
    await directory.postback_queues.claim_queue(first.queue, holder, NOW, NOW + WEEK)
    later = schedule_retry(second, "busy", NOW, WEEK)
    await directory.postback_queues.save_results([mark_sent(first, 200, NOW), later])
    await directory.postback_queues.release_queue(first.queue, holder, AccountHealth(), None)
    assert await directory.postback_queues.list_due_queues(NOW + minute - timedelta.resolution) == []
    assert await directory.postback_queues.list_due_queues(NOW + minute) == [first.queue]
    assert await waiting(directory, workspace_id, NOW + minute) == [later]
    await directory.postback_outbox.add_postbacks([fired(workspace_id, "o3")], WINDOWS)
    assert await directory.postback_queues.list_due_queues(NOW) == [first.queue]
    await directory.postback_queues.claim_queue(first.queue, holder, NOW, NOW + WEEK)
    await directory.postback_queues.release_queue(first.queue, holder, AccountHealth(), NOW + minute)
    assert await directory.postback_queues.list_due_queues(NOW) == []
    assert await directory.postback_queues.list_due_queues(NOW + minute) == [first.queue]


async def test_what_is_final_stays_so_but_what_was_sent_was_sent(directory, workspace_id):
    one = fired(workspace_id, event_id="e1")
    await directory.postback_outbox.add_postbacks([one], WINDOWS)
    await directory.postback_queues.save_results([mark_skipped(one, SkipReason.RULE_INACTIVE, NOW)])
    await directory.postback_queues.save_results([mark_failed(one, "bad", 400, NOW)])
    assert (await directory.postbacks.list_event_postbacks(workspace_id, ["e1"]))["e1"][0].status == "skipped"
    await directory.postback_queues.save_results([mark_sent(one, 200, NOW)])
    await directory.postback_queues.save_results([mark_sent(one, 200, NOW + WEEK)])
    await directory.postback_queues.save_results([mark_failed(one, "bad", 400, NOW)])
    assert await directory.postbacks.list_event_postbacks(workspace_id, ["e1"]) == {
        "e1": [PostbackSummary(RULE, "adhub", "sent", NOW)]
    }


async def test_counts_stand_between_the_instants_they_are_asked_for(directory, workspace_id):
    days = [NOW + timedelta(days=number) for number in range(4)]
    every = [fired(workspace_id, f"o{number}") for number in range(5)]
    await directory.postback_outbox.add_postbacks(every, WINDOWS)
    at = (days[0], days[1] - timedelta.resolution, days[1], days[2], days[3])
    await directory.postback_queues.save_results(
        [mark_sent(one, 200, instant) for one, instant in zip(every, at, strict=True)]
    )
    found = await directory.postbacks.count_postbacks(workspace_id, days)
    assert sorted((each.bucket, each.count) for each in found) == [(0, 2), (1, 1), (2, 1)]
    assert await directory.postbacks.count_postbacks(uuid4(), days) == []


async def test_a_rule_that_is_removed_takes_along_what_it_has_waiting(directory, workspace_id):
    waits, sent, other = (
        fired(workspace_id, event_id="e1"),
        fired(workspace_id, "o2", event_id="e2"),
        fired(workspace_id, rule_id=UUID(int=8), event_id="e3"),
    )
    await directory.postback_outbox.add_postbacks([waits, sent], WINDOWS)
    await directory.postback_outbox.add_postbacks([other], {other.rule_id: WEEK})
    await directory.postback_queues.save_results([mark_sent(sent, 200, NOW)])
    async with directory.transactions.write(workspace_id) as unit:
        await unit.resources.remove(Note.model_construct(id=RULE), NOW + WEEK)
    assert await waiting(directory, workspace_id) == [other]
    told = await directory.postbacks.list_event_postbacks(workspace_id, ["e1", "e2", "e3"])
    assert {id_: one.status for id_, (one,) in told.items()} == {
        "e1": "skipped",
        "e2": "sent",
        "e3": "queued",
    }
    assert await directory.postbacks.count_postbacks(workspace_id, (NOW + WEEK, NOW + 2 * WEEK)) == [
        PostbackCount(0, "adhub", "skipped", 1)
    ]
