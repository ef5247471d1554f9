"""Events that could not be stored are kept for as long as the settings say, and it is told when they go."""

import logging
from datetime import timedelta

from hosts.roles.tasks import delete_and_log_old_quarantine_unless_kept_forever
from tests.commerce.providers.webhook_client import open_webhook_client


async def test_quarantined_messages_are_deleted_after_their_retention_and_logged(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "touchpoint.quarantine")
    async with open_webhook_client(tmp_path) as webhook_client:
        shop = await webhook_client.connected_workspace()
        await webhook_client.stripe(shop, {"id": "evt_1", "created": 1_783_500_000, "type": "payout.paid"})
        await webhook_client.drain()
        for days, left in ((89, 1), (1, 1), (1, 0)):
            webhook_client.served.now += timedelta(days=days)
            await delete_and_log_old_quarantine_unless_kept_forever(webhook_client.ports, 90)
            assert len(await webhook_client.ports.queue.list_quarantined(shop.workspace.id, 10)) == left
        assert [record.getMessage() for record in caplog.records] == [
            f"1 quarantined events of workspace {shop.workspace.id} are deleted after 90 days"
        ]


async def test_retention_of_0_days_keeps_quarantined_messages(tmp_path):
    async with open_webhook_client(tmp_path) as webhook_client:
        shop = await webhook_client.connected_workspace()
        await webhook_client.stripe(shop, {"id": "evt_1", "created": 1_783_500_000, "type": "payout.paid"})
        await webhook_client.drain()
        webhook_client.served.now += timedelta(days=4000)
        await delete_and_log_old_quarantine_unless_kept_forever(webhook_client.ports, 0)
        assert len(await webhook_client.ports.queue.list_quarantined(shop.workspace.id, 10)) == 1
