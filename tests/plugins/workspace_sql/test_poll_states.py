"""How far providers were read goes with their connection, and which messages were kept stays for ever."""

import asyncio
from datetime import timedelta

from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.sync.freshness import PollState
from tests.plugins.workspace_sql.conftest import NOW


async def test_poll_state_is_replaced_and_deleted_with_its_connection(directory, initialized_deployment):
    own = initialized_deployment.workspace.id
    assert await directory.poll_states.states_by_provider(own) == {}
    for read in (PollState(NOW), PollState(NOW, NOW + timedelta(hours=1))):
        await directory.poll_states.save_poll_state(own, "stripe", read)
        await directory.poll_states.save_poll_state(own, "shopify", PollState())
        assert await directory.poll_states.states_by_provider(own) == {
            "stripe": read,
            "shopify": PollState(),
        }
    connection = Connection(own, "stripe", ProviderKind.REVENUE, ConnectionStatus.CONNECTED, NOW)
    await directory.connections.save_connection_keeping_created_at(connection)
    await directory.processed_messages.mark_processed(own, "stripe", ["evt_1"])
    await directory.connections.remove_connection_if_present(own, "stripe")
    assert set(await directory.poll_states.states_by_provider(own)) == {"shopify"}
    assert await directory.processed_messages.find_processed_ids(own, "stripe", ["evt_1"]) == {"evt_1"}


async def test_messages_are_stored_once_by_workspace_and_provider(
    open_directory, directory, initialized_deployment
):
    own, ids = initialized_deployment.workspace.id, {f"evt_{number}" for number in range(900)}
    other = await create_workspace_with_keys(
        directory.credentials, NOW, name="Other", timezone="UTC", currency="EUR"
    )
    async with open_directory() as second:
        await asyncio.gather(
            *(
                one.processed_messages.mark_processed(own, "stripe", ids)
                for one in (directory, second, directory)
            ),
            directory.processed_messages.mark_processed(own, "stripe", []),
        )
    assert await directory.processed_messages.find_processed_ids(own, "stripe", ids | {"evt_900"}) == ids
    assert await directory.processed_messages.find_processed_ids(own, "shopify", ids) == frozenset()
    assert (
        await directory.processed_messages.find_processed_ids(other.workspace.id, "stripe", ids)
        == frozenset()
    )
    assert await directory.processed_messages.find_processed_ids(own, "stripe", []) == frozenset()
