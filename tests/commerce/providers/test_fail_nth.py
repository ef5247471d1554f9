"""Whichever call of a webhook fails, the provider's next attempt leaves one event and one state."""

from itertools import count

import orjson
import pytest

from hosts.ingest.webhooks import webhook_app
from service_core.access.workspaces import Workspaces
from service_core.commerce.providers.keeping import Keeping
from service_core.commerce.providers.receive import Webhooks
from service_core.commerce.providers.sealing import Sealing
from service_core.insight.ports import StoreUnavailable
from service_core.testing.faults import each_call_fails, faulty
from tests.commerce.providers.door import opened
from tests.commerce.providers.test_receive import STARTED


def failing_with(door, faults):
    """The door, with faults in all it stands on."""
    ports, faults.error = door.ports, StoreUnavailable
    workspace = faulty(ports.workspace, faults)
    webhooks = Webhooks(
        ports.revenue_providers, Workspaces(workspace), workspace, Sealing(workspace, ports.vault),
        Keeping(workspace, workspace, faulty(ports.queue, faults), orjson.loads), faulty(ports.queue, faults),
        ports.clock,
    )  # fmt: skip
    return webhook_app(webhooks, door.app)


@pytest.mark.parametrize("after", [False, True], ids=["before it took effect", "after it took effect"])
async def test_a_message_is_kept_once_whichever_call_fails(tmp_path, after):
    folders = count()

    async def run(faults):
        at, faults.at = faults.at, 0
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        async with opened(folder) as door:
            shop = await door.shop()
            door.app = failing_with(door, faults)
            faults.begin(at, after=after)
            answers = [await door.stripe(shop, STARTED)]
            while answers[-1].status == 503:
                answers.append(await door.stripe(shop, STARTED))
            calls = list(faults.calls)
            faults.heal()
            assert [answer.status for answer in answers[-1:]] == [200]
            assert len(answers) <= 2
            assert len(await door.events(shop)) == 1
            assert [state.subscription_id for state in await door.subscriptions(shop)] == ["sub_1"]
            row = await door.ledger(shop)
            assert row["stored"] == 1
        faults.calls = calls

    assert await each_call_fails(run, after=after) >= 5
