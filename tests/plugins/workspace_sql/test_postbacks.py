"""The outbox on each database: one row per rule and event, one process at a queue, counts by instants."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from service_core.analytics.postbacks.ports import PostbackCount, PostbackSummary, RulePostbackCount
from service_core.delivery.postbacks.circuit_breaker import AccountHealth
from service_core.delivery.postbacks.postback import (
    Postback,
    SkipReason,
    mark_failed,
    mark_sent,
    mark_settled,
    mark_skipped,
    schedule_retry_or_fail,
)
from service_core.kernel.ids import new_id
from service_core.kernel.time_ranges import TimeRange
from tests.fixtures.notes import Note
from tests.plugins.workspace_sql.conftest import NOW

RULE = UUID(int=7)
WINDOWS = {RULE: timedelta(hours=48)}
WEEK = timedelta(days=7)


@pytest.fixture
def workspace_id(initialized_deployment):
    return initialized_deployment.workspace.id


def make_postback(workspace_id, order="o1", **fields):
    usual = {
        "id": new_id(), "workspace_id": workspace_id, "rule_id": RULE, "event_id": uuid4().hex, "event_at": NOW,
        "platform": "adhub", "account_id": "act_1", "asset_id": "p1", "platform_event": "Buy",
        "platform_event_id": order, "created_at": NOW, "next_attempt_at": NOW, "user_agent": "Firefox",
        "value": 1250, "currency": "EUR",
    }  # fmt: skip
    return Postback(**usual | fields)


async def count_pending(store, workspace_id, now=NOW):
    queue = make_postback(workspace_id).queue
    return await store.postback_queues.list_due_postbacks(queue, now, 100)


async def test_postback_reads_back_unchanged(directory, workspace_id):
    result = make_postback(
        workspace_id, is_custom=True, is_test=True, test_code="T1", request_masked={"event": "Buy"}
    )
    await directory.postback_outbox.add_postbacks_skipping_duplicates([result], WINDOWS)
    assert await count_pending(directory, workspace_id) == [result]


async def test_concurrent_identical_postbacks_are_stored_once(open_directory, directory, workspace_id):
    orders = [
        make_postback(workspace_id, f"o{number % 3}", event_id=f"e{number % 4}") for number in range(12)
    ]
    async with open_directory() as other:
        tellers = (directory, other) * 6
        await asyncio.gather(
            *(
                store.postback_outbox.add_postbacks_skipping_duplicates([one], WINDOWS)
                for store, one in zip(tellers, orders, strict=True)
            )
        )
        result = await other.postbacks.list_postbacks_by_event(
            workspace_id, {f"e{number}" for number in range(4)}
        )
    assert sorted(result) == ["e0", "e1", "e2", "e3"]
    assert [len(found) for found in result.values()] == [1] * 4
    assert len(await count_pending(directory, workspace_id)) <= 3


async def test_duplicate_postbacks_are_detected_within_and_across_batches(directory, workspace_id):
    tests = make_postback(workspace_id, is_test=True)
    await directory.postback_outbox.add_postbacks_skipping_duplicates(
        [make_postback(workspace_id), make_postback(workspace_id), tests], WINDOWS
    )
    await directory.postback_outbox.add_postbacks_skipping_duplicates(
        [make_postback(workspace_id), make_postback(workspace_id, event_at=NOW - WEEK)], WINDOWS
    )
    assert len(await count_pending(directory, workspace_id)) == 3
    counts = await directory.postbacks.count_final_postbacks_by_bucket(workspace_id, (NOW, NOW + WEEK))
    assert counts == [PostbackCount(0, "adhub", "skipped", 2)]


async def test_postbacks_are_duplicates_for_less_than_the_window_in_both_directions(directory, workspace_id):
    window, moment = WINDOWS[RULE], timedelta(microseconds=1)
    offsets = (timedelta(), window, moment - window, window - moment, -window, window + moment)
    for number, offset in enumerate(offsets):
        one = make_postback(workspace_id, event_id=f"e{number}", event_at=NOW + offset)
        await directory.postback_outbox.add_postbacks_skipping_duplicates([one], WINDOWS)
    stored = await directory.postbacks.list_postbacks_by_event(
        workspace_id, {f"e{number}" for number in range(len(offsets))}
    )
    assert [stored[f"e{number}"][0].status for number in range(len(offsets))] == [
        "queued", "queued", "skipped", "skipped", "queued", "skipped",
    ]  # fmt: skip


async def test_postbacks_that_wait_for_an_order_are_duplicates_only_of_settled_ones(directory, workspace_id):
    waiting = [
        make_postback(workspace_id, event_id=f"e{number}", order_settles_by=NOW + timedelta(minutes=10))
        for number in range(3)
    ]
    await directory.postback_outbox.add_postbacks_skipping_duplicates(waiting[:2], WINDOWS)
    assert await count_pending(directory, workspace_id) == waiting[:2]
    settled = mark_sent(mark_settled(waiting[0], "1001", 990, "USD"), 200, NOW)
    await directory.postback_queues.save_results_unless_finished([settled])
    late = [waiting[2], make_postback(workspace_id, "1001", event_id="e3", order_settles_by=NOW + WEEK)]
    await directory.postback_outbox.add_postbacks_skipping_duplicates(late, WINDOWS)
    queues, ids = directory.postback_queues, {f"e{number}" for number in range(4)}
    stored = await queues.list_postbacks_of_events(settled.queue, ids)
    assert [each.status for each in stored] == ["sent", "queued", "queued", "skipped"]
    assert stored[0] == settled
    assert await queues.list_postbacks_of_events(settled.queue._replace(account_id="act_2"), ids) == []


async def test_one_process_holds_the_queue_lease_until_release_or_expiry(
    open_directory, directory, workspace_id
):
    one, other = uuid4(), uuid4()
    until = NOW + timedelta(minutes=5)
    await directory.postback_outbox.add_postbacks_skipping_duplicates([make_postback(workspace_id)], WINDOWS)
    (queue,) = await directory.postback_queues.list_due_queues(NOW)
    async with open_directory() as process:
        took = await asyncio.gather(
            directory.postback_queues.claim_or_extend_queue(queue, one, NOW, until),
            process.postback_queues.claim_or_extend_queue(queue, other, NOW, until),
        )
        assert [state for state in took if state] == [AccountHealth()]
        holder, loser = (one, other) if took[0] else (other, one)
        assert await process.postback_queues.list_due_queues(NOW) == []
        assert await process.postback_queues.claim_or_extend_queue(queue, holder, NOW, until) is not None
        await directory.postback_queues.release_queue_and_save_health(
            queue, loser, AccountHealth(failures=9), None
        )
        assert await process.postback_queues.list_due_queues(NOW) == []
        assert (
            await process.postback_queues.claim_or_extend_queue(queue, loser, until, until + WEEK)
            == AccountHealth()
        )
        state = AccountHealth(3, NOW + WEEK, refused=True, counted_from=NOW, calls=7)
        await process.postback_queues.release_queue_and_save_health(queue, loser, state, None)
        assert await directory.postback_queues.list_due_queues(NOW + timedelta(days=6)) == []
        assert await directory.postback_queues.list_due_queues(NOW + WEEK) == [queue]
        assert (
            await directory.postback_queues.claim_or_extend_queue(queue, one, NOW + WEEK, NOW + WEEK) == state
        )


async def test_queue_is_due_with_its_first_pending_postback(directory, workspace_id):
    holder, minute = uuid4(), timedelta(minutes=1)
    first, second = make_postback(workspace_id), make_postback(workspace_id, "o2")
    await directory.postback_outbox.add_postbacks_skipping_duplicates([first, second], WINDOWS)
    await directory.postback_queues.claim_or_extend_queue(first.queue, holder, NOW, NOW + WEEK)
    later = schedule_retry_or_fail(second, "busy", NOW, WEEK)
    await directory.postback_queues.save_results_unless_finished([mark_sent(first, 200, NOW), later])
    await directory.postback_queues.release_queue_and_save_health(first.queue, holder, AccountHealth(), None)
    assert await directory.postback_queues.list_due_queues(NOW + minute - timedelta.resolution) == []
    assert await directory.postback_queues.list_due_queues(NOW + minute) == [first.queue]
    assert await count_pending(directory, workspace_id, NOW + minute) == [later]
    await directory.postback_outbox.add_postbacks_skipping_duplicates(
        [make_postback(workspace_id, "o3")], WINDOWS
    )
    assert await directory.postback_queues.list_due_queues(NOW) == [first.queue]
    await directory.postback_queues.claim_or_extend_queue(first.queue, holder, NOW, NOW + WEEK)
    await directory.postback_queues.release_queue_and_save_health(
        first.queue, holder, AccountHealth(), NOW + minute
    )
    assert await directory.postback_queues.list_due_queues(NOW) == []
    assert await directory.postback_queues.list_due_queues(NOW + minute) == [first.queue]


async def test_final_status_is_kept_except_that_sent_wins(directory, workspace_id):
    one = make_postback(workspace_id, event_id="e1")
    await directory.postback_outbox.add_postbacks_skipping_duplicates([one], WINDOWS)
    await directory.postback_queues.save_results_unless_finished(
        [mark_skipped(one, SkipReason.RULE_INACTIVE, NOW)]
    )
    await directory.postback_queues.save_results_unless_finished([mark_failed(one, "bad", 400, NOW)])
    assert (await directory.postbacks.list_postbacks_by_event(workspace_id, ["e1"]))["e1"][
        0
    ].status == "skipped"
    await directory.postback_queues.save_results_unless_finished([mark_sent(one, 200, NOW)])
    await directory.postback_queues.save_results_unless_finished([mark_sent(one, 200, NOW + WEEK)])
    await directory.postback_queues.save_results_unless_finished([mark_failed(one, "bad", 400, NOW)])
    assert await directory.postbacks.list_postbacks_by_event(workspace_id, ["e1"]) == {
        "e1": [PostbackSummary(RULE, "adhub", "sent", NOW)]
    }


async def test_counts_cover_the_requested_range(directory, workspace_id):
    days = [NOW + timedelta(days=number) for number in range(4)]
    every = [make_postback(workspace_id, f"o{number}") for number in range(5)]
    await directory.postback_outbox.add_postbacks_skipping_duplicates(every, WINDOWS)
    at = (days[0], days[1] - timedelta.resolution, days[1], days[2], days[3])
    await directory.postback_queues.save_results_unless_finished(
        [mark_sent(one, 200, instant) for one, instant in zip(every, at, strict=True)]
    )
    found = await directory.postbacks.count_final_postbacks_by_bucket(workspace_id, days)
    assert sorted((each.bucket, each.count) for each in found) == [(0, 2), (1, 1), (2, 1)]
    assert await directory.postbacks.count_final_postbacks_by_bucket(uuid4(), days) == []


async def test_counts_by_rule_name_status_and_reason_within_the_range(directory, workspace_id):
    other_rule = UUID(int=8)
    every = [make_postback(workspace_id, f"o{number}", event_id=f"e{number}") for number in range(4)]
    tests = make_postback(workspace_id, "o9", event_id="e9", is_test=True)
    foreign = make_postback(workspace_id, "o8", event_id="e8", rule_id=other_rule)
    await directory.postback_outbox.add_postbacks_skipping_duplicates([*every, tests], WINDOWS)
    await directory.postback_outbox.add_postbacks_skipping_duplicates([foreign], {other_rule: WEEK})
    await directory.postback_queues.save_results_unless_finished(
        [
            mark_sent(every[0], 200, NOW),
            mark_failed(every[1], "invalid_token", 400, NOW),
            mark_skipped(every[2], SkipReason.NO_MATCH_KEY, NOW),
            mark_sent(every[3], 200, NOW + WEEK),
            mark_sent(tests, 200, NOW),
            mark_skipped(foreign, SkipReason.TOO_OLD, NOW),
        ]
    )
    found = await directory.postbacks.count_final_postbacks_by_rule(workspace_id, TimeRange(NOW, NOW + WEEK))
    assert sorted(found, key=lambda count: (count.rule_id, count.status)) == [
        RulePostbackCount(RULE, "failed", "invalid_token", 1),
        RulePostbackCount(RULE, "sent", None, 1),
        RulePostbackCount(RULE, "skipped", "no_match_key", 1),
        RulePostbackCount(other_rule, "skipped", "too_old", 1),
    ]
    nobody = await directory.postbacks.count_final_postbacks_by_rule(uuid4(), TimeRange(NOW, NOW + WEEK))
    assert nobody == []


async def test_removing_a_rule_cancels_its_pending_postbacks(directory, workspace_id):
    waits, sent, other = (
        make_postback(workspace_id, event_id="e1"),
        make_postback(workspace_id, "o2", event_id="e2"),
        make_postback(workspace_id, rule_id=UUID(int=8), event_id="e3"),
    )
    await directory.postback_outbox.add_postbacks_skipping_duplicates([waits, sent], WINDOWS)
    await directory.postback_outbox.add_postbacks_skipping_duplicates([other], {other.rule_id: WEEK})
    await directory.postback_queues.save_results_unless_finished([mark_sent(sent, 200, NOW)])
    async with directory.transactions.write(workspace_id) as unit:
        await unit.resources.remove(Note.model_construct(id=RULE), NOW + WEEK)
    assert await count_pending(directory, workspace_id) == [other]
    result = await directory.postbacks.list_postbacks_by_event(workspace_id, ["e1", "e2", "e3"])
    assert {id_: one.status for id_, (one,) in result.items()} == {
        "e1": "skipped",
        "e2": "sent",
        "e3": "queued",
    }
    assert await directory.postbacks.count_final_postbacks_by_bucket(
        workspace_id, (NOW + WEEK, NOW + 2 * WEEK)
    ) == [PostbackCount(0, "adhub", "skipped", 1)]
