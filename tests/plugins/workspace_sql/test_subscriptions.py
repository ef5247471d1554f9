"""What several processes tell of subscriptions at once is told once."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

from service_core.plugin import MovementKind, MovementQuery
from tests.commerce.subscriptions.subscription_data import CHARGE_PAYMENT, FIRST, MONTHLY, state_on_day

PLAN_EDGES = (FIRST, FIRST + timedelta(days=60))


async def test_concurrent_identical_messages_count_once(open_directory, directory, initialized_deployment):
    workspace = initialized_deployment.workspace.id
    messages = [MONTHLY, *(state_on_day(MONTHLY, day, amount=1000 * day) for day in range(2, 7))]
    async with open_directory() as other:
        tellers = (directory, other) * 6
        result = (
            store.subscriptions.add_new_subscription_reports(
                workspace, [messages[n // 2]], [replace(CHARGE_PAYMENT, message_id=f"c{n // 4}")]
            )
            for n, store in enumerate(tellers)
        )
        await asyncio.gather(*result)
        moved = await other.subscriptions.sum_movements(MovementQuery(workspace, PLAN_EDGES))
    found = {each.kind: (each.count, each.mrr_delta, each.amount) for each in moved}
    assert found == {
        MovementKind.NEW: (1, Fraction(1000), 0),
        MovementKind.EXPANSION: (5, Fraction(5000), 0),
        MovementKind.CHARGE: (3, Fraction(0), 3000),
    }
