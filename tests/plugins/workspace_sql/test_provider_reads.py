"""How far providers were read goes with their connection, and which messages were kept stays for ever."""

import asyncio
from datetime import timedelta

from service_core.access.keys import found_workspace
from service_core.commerce.providers.model import ProviderRead
from service_core.insight.connections.model import Connection, ConnectionStatus, ProviderKind
from tests.plugins.workspace_sql.conftest import NOW


async def test_a_read_is_replaced_and_goes_with_its_connection(directory, founded):
    own = founded.workspace.id
    assert await directory.provider_reads(own) == {}
    for read in (ProviderRead(NOW), ProviderRead(NOW, NOW + timedelta(hours=1))):
        await directory.save_provider_read(own, "stripe", read)
        await directory.save_provider_read(own, "shopify", ProviderRead())
        assert await directory.provider_reads(own) == {"stripe": read, "shopify": ProviderRead()}
    connection = Connection(own, "stripe", ProviderKind.REVENUE, ConnectionStatus.CONNECTED, NOW)
    await directory.save_connection(connection)
    await directory.keep_messages(own, "stripe", ["evt_1"])
    await directory.remove_connection(own, "stripe")
    assert set(await directory.provider_reads(own)) == {"shopify"}
    assert await directory.kept_messages(own, "stripe", ["evt_1"]) == {"evt_1"}


async def test_messages_are_kept_by_workspace_and_provider_however_many_and_by_whom(
    opened, directory, founded
):
    own, ids = founded.workspace.id, {f"evt_{number}" for number in range(900)}
    other = await found_workspace(directory, NOW, name="Other", timezone="UTC", currency="EUR")
    async with opened() as second:
        await asyncio.gather(
            *(one.keep_messages(own, "stripe", ids) for one in (directory, second, directory)),
            directory.keep_messages(own, "stripe", []),
        )
    assert await directory.kept_messages(own, "stripe", ids | {"evt_900"}) == ids
    assert await directory.kept_messages(own, "shopify", ids) == frozenset()
    assert await directory.kept_messages(other.workspace.id, "stripe", ids) == frozenset()
    assert await directory.kept_messages(own, "stripe", []) == frozenset()
