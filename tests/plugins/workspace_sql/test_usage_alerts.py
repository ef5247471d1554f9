"""What owners were told is claimed once, whichever process looks."""

import asyncio


async def test_usage_alert_is_claimed_by_one_process_and_released_on_failure(
    open_directory, directory, initialized_deployment
):
    notice = initialized_deployment.workspace.id, initialized_deployment.workspace.created_at, 90
    async with open_directory() as other:
        stores = (directory, other) * 10
        claims = await asyncio.gather(*(store.usage_alerts.claim_alert(*notice) for store in stores))
        assert claims.count(True) == 1
        await other.usage_alerts.release_alert(*notice)
        assert await directory.usage_alerts.claim_alert(*notice)
        assert await directory.usage_alerts.claim_alert(*notice[:2], 100)
