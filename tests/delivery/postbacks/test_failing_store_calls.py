"""Whichever call of the stores fails, each conversion ends sent, and the platform can tell a repeat."""

from contextlib import suppress
from itertools import count

import pytest

from hosts.composition.providers import build_delivery_worker_if_any_sender
from service_core.analytics.ports import StoreUnavailable
from service_core.delivery.postbacks.delivery_worker import QUEUE_LEASE, DeliveryWorker
from service_core.kernel.settings import PostbacksSettings
from service_core.testing.fault_injection import fail_each_call, with_faults
from tests.delivery.postbacks.deployment import PostbackWorkspace, run_postback_deployment


def workspace_with_faults(shop: PostbackWorkspace, faults) -> DeliveryWorker:
    """The sending of a shop, with faults in all it stands on."""
    sound = build_delivery_worker_if_any_sender(shop.ports, PostbacksSettings())
    store, events = with_faults(shop.store, faults), with_faults(shop.ports.events, faults)
    return DeliveryWorker(
        sound.senders,
        {},
        store.postback_queues,
        store.connections,
        sound.secrets,
        store.transactions,
        sound.workspaces,
        events,
        events,
        sound.clock,
        sound.settle_time,
    )


@pytest.mark.parametrize("after", [False, True], ids=["before it took effect", "after it took effect"])
async def test_every_conversion_is_sent_whichever_store_call_fails(tmp_path, after):
    async with run_postback_deployment(tmp_path) as shop:
        shop.sender.batch_size = 1
        await shop.rule()
        numbers = count()

        async def run(faults):
            orders = [f"o{next(numbers)}" for _ in range(2)]
            shop.delivery, faults.error = workspace_with_faults(shop, faults), StoreUnavailable
            await shop.sells(*orders)
            faults.fail_at_call(faults.call_number, fail_after_effect=after)
            for _ in range(3):  # at once, when it is looked at again, and when a lost turn is over
                with suppress(StoreUnavailable):
                    await shop.send()
                shop.deployment.now += QUEUE_LEASE
            calls = list(faults.calls)
            faults.stop_faults()
            rows = (await shop.rows())[-2:]
            assert [(row["platform_event_id"], row["status"], row["attempts"]) for row in rows] == [
                (order, "sent", 1) for order in orders
            ]
            assert all(1 <= shop.sender.sent.count(order) <= 2 for order in orders)
            faults.calls = calls

        assert await fail_each_call(run, fail_after_effect=after) >= 10
