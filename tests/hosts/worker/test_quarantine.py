"""Events that could not be stored are kept for as long as the settings say, and it is told when they go."""

import logging
from datetime import timedelta

from hosts.roles.tasks import delete_old_quarantine
from tests.commerce.providers.webhook_client import open_webhook_client


async def test_a_message_nobody_could_read_is_forgotten_after_its_days_and_that_is_told(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "touchpoint.quarantine")
    async with open_webhook_client(tmp_path) as door:
        shop = await door.connected_workspace()
        await door.stripe(shop, {"id": "evt_1", "created": 1_783_500_000, "type": "payout.paid"})
        await door.drain()
        for days, left in ((89, 1), (1, 1), (1, 0)):
            door.served.now += timedelta(days=days)
            await delete_old_quarantine(door.ports, 90)
            assert len(await door.ports.queue.list_quarantined(shop.workspace.id, 10)) == left
        assert [record.getMessage() for record in caplog.records] == [
            f"1 quarantined events of workspace {shop.workspace.id} are deleted after 90 days"
        ]


async def test_with_0_days_they_are_kept_for_ever(tmp_path):
    async with open_webhook_client(tmp_path) as door:
        shop = await door.connected_workspace()
        await door.stripe(shop, {"id": "evt_1", "created": 1_783_500_000, "type": "payout.paid"})
        await door.drain()
        door.served.now += timedelta(days=4000)
        await delete_old_quarantine(door.ports, 0)
        assert len(await door.ports.queue.list_quarantined(shop.workspace.id, 10)) == 1
