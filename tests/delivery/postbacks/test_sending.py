"""What becomes of conversions that wait: attempts, faults, refusals, and whose turn it is."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from hosts.composition.providers import build_delivery_worker_if_any_sender
from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.ports import EventPageResult, StoreUnavailable
from service_core.commerce.credentials.ports import CipherUnavailable
from service_core.commerce.platform_errors import PlatformUnavailable
from service_core.delivery.postbacks.models import Accepted, Deferred, Rejected
from service_core.delivery.postbacks.ports import Throttle
from service_core.kernel.settings import PostbacksSettings
from tests.delivery.postbacks.deployment import (
    ADHUB,
    CREDENTIALS_ERROR,
    UNAVAILABLE_ERROR,
    StubSender,
    run_postback_deployment,
)

PAUSES = [60, 300, 1_800, 7_200, 21_600, 86_400]


@pytest.fixture
async def postback_workspace(tmp_path):
    async with run_postback_deployment(tmp_path) as postback_workspace:
        await postback_workspace.rule()
        yield postback_workspace


async def test_conversion_is_tried_after_1_and_5_and_30_minutes_and_2_and_6_and_24_hours(
    postback_workspace,
):
    postback_workspace.sender.outcomes = [Deferred("busy", 200)] * 7
    await postback_workspace.sells("o1")
    for attempts, pause in enumerate(PAUSES, start=1):
        await postback_workspace.send()
        row = await postback_workspace.row()
        assert (row["status"], row["attempts"], row["error_code"]) == ("retrying", attempts, "busy")
        assert row["next_attempt_at"] == postback_workspace.now + timedelta(seconds=pause)
        postback_workspace.later(seconds=pause - 1)
        await postback_workspace.send()
        assert len(postback_workspace.sender.calls) == attempts
        postback_workspace.later(seconds=1)
    await postback_workspace.send()
    row = await postback_workspace.row()
    assert (row["status"], row["attempts"], row["done_at"]) == ("failed", 7, postback_workspace.now)
    assert (row["user_agent"], row["next_attempt_at"]) == (None, None)


async def test_no_attempt_comes_after_the_age_limit(postback_workspace):
    postback_workspace.sender.outcomes = [Deferred("busy")] * 3
    await postback_workspace.sells("o1", at=postback_workspace.now - timedelta(days=7, minutes=-2))
    await postback_workspace.send()
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    row = await postback_workspace.row()
    assert (row["status"], row["attempts"], row["error_code"]) == ("failed", 2, "busy")


async def test_expired_pending_conversion_is_not_sent(postback_workspace):
    await postback_workspace.sells("o1")
    postback_workspace.later(days=7, seconds=1)
    await postback_workspace.send()
    assert (await postback_workspace.outcome(), postback_workspace.sender.calls) == (
        ("skipped", "too_old"),
        [],
    )


async def test_retry_after_of_the_platform_is_respected(postback_workspace):
    postback_workspace.sender.outcomes = [PlatformUnavailable("Slow down.", retry_after=600, http_status=429)]
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    row = await postback_workspace.row()
    assert (row["status"], row["http_status"], row["next_attempt_at"]) == (
        "retrying", 429, postback_workspace.now + timedelta(minutes=10),
    )  # fmt: skip
    await postback_workspace.sells("o2")
    postback_workspace.later(minutes=9)
    await postback_workspace.send()
    assert len(postback_workspace.sender.calls) == 1
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    assert sorted(postback_workspace.sender.sent[1:]) == ["o1", "o2"]


async def test_final_response_stops_retries(postback_workspace):
    postback_workspace.sender.outcomes = [Rejected("invalid_value", 400)]
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    row = await postback_workspace.row()
    assert (row["status"], row["http_status"], row["error_code"]) == ("failed", 400, "invalid_value")
    postback_workspace.later(days=2)
    await postback_workspace.send()
    assert len(postback_workspace.sender.calls) == 1


async def test_batch_rejected_for_one_conversion_is_sent_without_it(postback_workspace):
    postback_workspace.sender.rejected_event_ids = {"o3"}
    await postback_workspace.sells("o1", "o2", "o3", "o4", "o5")
    await postback_workspace.send()
    assert {row["platform_event_id"]: row["status"] for row in await postback_workspace.rows()} == {
        "o1": "sent", "o2": "sent", "o3": "failed", "o4": "sent", "o5": "sent",
    }  # fmt: skip
    assert (await postback_workspace.rows())[2]["error_code"] == "bad_event"


async def test_unavailable_destination_backs_off_and_delays_no_other(tmp_path):
    bad, well = StubSender(outcomes=[UNAVAILABLE_ERROR] * 9), StubSender(replace(ADHUB, id="other"))
    async with run_postback_deployment(tmp_path, bad, well) as shop:
        await shop.rule()
        await shop.rule(platform="other")
        for order in ("o1", "o2", "o3", "o4"):
            await shop.sells(order)
            await shop.send()
        assert len(bad.calls) == 3
        assert well.sent == ["o1", "o2", "o3", "o4"]
        shop.later(seconds=59)
        await shop.send()
        assert len(bad.calls) == 3
        shop.later(seconds=1)
        await shop.send()
        assert len(bad.calls) == 4
        shop.later(seconds=119)
        await shop.send()
        assert len(bad.calls) == 4
        bad.outcomes = []
        shop.later(minutes=6)
        await shop.send()
        assert {row["status"] for row in await shop.rows()} == {"sent"}


async def test_rejected_credentials_hold_the_queue_until_reconnected(
    postback_workspace,
):
    postback_workspace.sender.outcomes = [CREDENTIALS_ERROR]
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    connection = await postback_workspace.status()
    assert (connection.status, connection.error) == (ConnectionStatus.ERROR, "It answered 401.")
    row = await postback_workspace.row()
    assert (row["status"], row["attempts"]) == ("queued", 0)
    await postback_workspace.sells("o2")
    for _ in range(3):
        postback_workspace.later(minutes=1)
        await postback_workspace.send()
    assert len(postback_workspace.sender.calls) == 1
    await postback_workspace.connect()
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    assert {row["status"] for row in await postback_workspace.rows()} == {"sent"}


async def test_expired_conversions_of_a_held_queue_are_skipped(postback_workspace):
    postback_workspace.sender.outcomes = [CREDENTIALS_ERROR]
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    postback_workspace.later(days=7, seconds=1)
    await postback_workspace.send()
    assert await postback_workspace.outcome() == ("skipped", "too_old")


async def test_platform_with_a_sync_error_still_receives_conversions(postback_workspace):
    await postback_workspace.connect(status=ConnectionStatus.ERROR)
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    assert await postback_workspace.outcome() == ("sent", None)


async def test_deleting_a_rule_cancels_pending_conversions_permanently(
    postback_workspace,
):
    (rule,) = (await postback_workspace.client.get("/rules"))["rules"]
    await postback_workspace.sells("before")
    deleted = await postback_workspace.write("DELETE", f"/rules/{rule['id']}", {})
    await postback_workspace.sells("between")
    await postback_workspace.write("POST", f"/audit/{deleted['audit_id']}/undo", {})
    await postback_workspace.sells("after")
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["after"]
    assert [(row["status"], row["reason"], row["user_agent"]) for row in await postback_workspace.rows()] == [
        ("skipped", "rule_inactive", None),
        ("sent", None, None),
    ]


async def test_dry_run_deletion_keeps_the_rule_sending(postback_workspace):
    (rule,) = (await postback_workspace.client.get("/rules"))["rules"]
    await postback_workspace.sells("o1")
    await postback_workspace.write("DELETE", f"/rules/{rule['id']}", {"dry_run": True})
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1"]


async def test_conversion_in_flight_during_deletion_is_recorded_as_sent(postback_workspace):
    (rule,) = (await postback_workspace.client.get("/rules"))["rules"]
    await postback_workspace.sells("o1")

    async def deleted():
        await postback_workspace.write("DELETE", f"/rules/{rule['id']}", {})

    postback_workspace.sender.during_call = deleted
    await postback_workspace.send()
    assert await postback_workspace.outcome() == ("sent", None)


async def test_paused_rule_sends_no_pending_conversions(postback_workspace):
    (rule,) = (await postback_workspace.client.get("/rules"))["rules"]
    await postback_workspace.sells("o1")
    await postback_workspace.write("PATCH", f"/rules/{rule['id']}", {"rule": {"active": False}})
    await postback_workspace.send()
    assert (await postback_workspace.outcome(), postback_workspace.sender.calls) == (
        ("skipped", "rule_inactive"),
        [],
    )


async def test_crash_after_sending_may_repeat_the_call_and_records_it_once(postback_workspace, monkeypatch):
    await postback_workspace.sells("o1")
    with monkeypatch.context() as broken:

        async def lost(*_):
            raise OSError("the disk is gone")

        broken.setattr(postback_workspace.store.postback_queues, "save_results_unless_finished", lost)
        with pytest.raises(OSError, match="gone"):
            await postback_workspace.send()
    assert await postback_workspace.outcome() == ("queued", None)
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1", "o1"]
    assert (await postback_workspace.row())["attempts"] == 1
    assert {one.id for _, (one,) in postback_workspace.sender.calls} == {
        (await postback_workspace.row())["id"]
    }


async def test_one_process_at_a_time_sends_a_conversion(postback_workspace):
    await postback_workspace.sells(*(f"o{number}" for number in range(5)))
    other = build_delivery_worker_if_any_sender(postback_workspace.ports, PostbacksSettings())
    queue = await postback_workspace.queue()
    gate, inside = asyncio.Event(), asyncio.Event()

    async def slowly():
        inside.set()
        await gate.wait()

    postback_workspace.sender.during_call = slowly
    async with asyncio.timeout(60), asyncio.TaskGroup() as processes:
        first = processes.create_task(postback_workspace.delivery.deliver_queue_unless_leased(queue))
        await inside.wait()
        assert list(await other.list_due_queues()) == []
        assert await other.deliver_queue_unless_leased(queue) is None
        gate.set()
    assert first.result() == 5
    assert await other.deliver_queue_unless_leased(queue) == 0
    assert len(postback_workspace.sender.sent) == 5


async def test_lease_of_a_dead_process_expires_after_five_minutes(postback_workspace):
    await postback_workspace.sells("o1")
    queue = await postback_workspace.queue()
    assert (
        await postback_workspace.store.postback_queues.claim_or_extend_queue(
            queue,
            postback_workspace.id,
            postback_workspace.now,
            postback_workspace.now + timedelta(minutes=5),
        )
        is not None
    )
    postback_workspace.later(minutes=4, seconds=59)
    await postback_workspace.send()
    assert postback_workspace.sender.calls == []
    postback_workspace.later(seconds=1)
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1"]


async def test_stopping_process_finishes_its_call_and_starts_no_other(postback_workspace):
    postback_workspace.sender.batch_size = 1
    await postback_workspace.sells("o1", "o2")
    requests = []

    def stopping():
        requests.append(True)
        return len(requests) > 1

    queue = await postback_workspace.queue()
    await postback_workspace.delivery.deliver_queue_unless_leased(queue, stopping)
    assert postback_workspace.sender.sent == ["o1"]
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1", "o2"]


async def test_calls_are_limited_to_the_platform_rate(postback_workspace):
    postback_workspace.sender.batch_size, postback_workspace.sender.throttle = (
        1,
        Throttle(2, timedelta(hours=1)),
    )
    await postback_workspace.sells("o1", "o2", "o3")
    await postback_workspace.send()
    postback_workspace.later(minutes=59)
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1", "o2"]
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1", "o2", "o3"]


async def test_call_rate_is_configurable(tmp_path):
    sender = StubSender(batch_size=1, throttle=Throttle(1, timedelta(hours=1)))
    async with run_postback_deployment(tmp_path, sender, rate_limits={"adhub": 2}) as shop:
        await shop.rule()
        await shop.sells("o1", "o2", "o3")
        await shop.send()
        assert sender.sent == ["o1", "o2"]


@pytest.mark.parametrize(
    "mistake", [ZeroDivisionError("ada@example.com"), [Accepted()], None], ids=["fault", "too few", "nothing"]
)
async def test_failed_sender_is_retried_and_its_error_has_no_personal_data(
    postback_workspace, mistake, monkeypatch, caplog
):
    async def failing(*_):
        if isinstance(mistake, Exception):
            raise mistake
        return mistake

    await postback_workspace.sells("o1", "o2")
    monkeypatch.setattr(postback_workspace.sender, "send", failing, raising=False)
    await postback_workspace.send()
    assert {(row["status"], row["error_code"]) for row in await postback_workspace.rows()} == {
        ("retrying", "sender_failed")
    }
    assert "adhub" in caplog.text
    assert "ada@" not in caplog.text


async def test_error_code_with_a_subcode_is_kept_as_the_platform_writes_it(postback_workspace):
    postback_workspace.sender.outcomes = [Rejected("100/2804003", 400)]
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    assert (await postback_workspace.row())["error_code"] == "100/2804003"


async def test_free_text_error_code_is_not_stored(postback_workspace):
    postback_workspace.sender.outcomes = [Rejected("ada@example.com is no e-mail address", 400)]
    await postback_workspace.sells("o1")
    await postback_workspace.send()
    assert (await postback_workspace.row())["error_code"] == "unreadable"


async def test_missing_event_is_looked_up_again(postback_workspace, monkeypatch):
    await postback_workspace.sells("o1")
    with monkeypatch.context() as erased:

        async def page(_):
            return EventPageResult([], None, has_more=False)

        erased.setattr(postback_workspace.ports.events, "list_events", page)
        await postback_workspace.send()
    row = await postback_workspace.row()
    assert (row["status"], row["error_code"], row["attempts"]) == ("retrying", "event_not_found", 1)
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1"]


async def test_unreadable_events_cost_no_attempt(postback_workspace, monkeypatch):
    await postback_workspace.sells("o1")
    with monkeypatch.context() as broken:

        async def page(_):
            raise StoreUnavailable

        broken.setattr(postback_workspace.ports.events, "list_events", page)
        with pytest.raises(StoreUnavailable):
            await postback_workspace.send()
        await postback_workspace.send()  # it is looked at again in a minute, not at once
    assert (await postback_workspace.row())["attempts"] == 0
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1"]


async def test_connection_without_credentials_receives_nothing(postback_workspace):
    await postback_workspace.sells("o1")
    await postback_workspace.ports.connection_secrets.replace_or_delete_secrets(
        postback_workspace.id, "adhub", {}
    )
    await postback_workspace.send()
    assert (await postback_workspace.outcome(), postback_workspace.sender.calls) == (
        ("skipped", "not_connected"),
        [],
    )


async def test_undecryptable_credentials_hold_the_queue(postback_workspace, monkeypatch, caplog):
    await postback_workspace.sells("o1")
    with monkeypatch.context() as shut:

        def unseal(*_):
            raise CipherUnavailable("no key of this deployment opens it")

        shut.setattr(postback_workspace.ports.secret_cipher, "decrypt", unseal)
        await postback_workspace.send()
    assert (await postback_workspace.outcome(), "cannot be opened" in caplog.text) == (("queued", None), True)
    postback_workspace.later(minutes=1)
    await postback_workspace.send()
    assert postback_workspace.sender.sent == ["o1"]
