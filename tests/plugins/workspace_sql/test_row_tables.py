"""Rows that changes read and write in tables of their own, on both engines."""

from dataclasses import replace

from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.credentials.models import EncryptedSecrets
from tests.fixtures.notes import NOW


async def rows(store, workspace, model):
    async with store.transactions.read(workspace.id) as transaction:
        return await transaction.tables.list_rows(model)


async def test_workspace_row_is_replaced_without_its_triggers(directory, initialized_deployment):
    workspace = initialized_deployment.workspace
    async with directory.transactions.write(workspace.id) as transaction:
        await transaction.triggers.replace_trigger_event_names(["purchase"])
        await transaction.tables.save_row(replace(workspace, name="Renamed", currency="EUR"))
    (saved,) = await rows(directory, workspace, type(workspace))
    assert (saved.name, saved.currency, saved.secret) == ("Renamed", "EUR", workspace.secret)
    assert saved.triggers == frozenset({"purchase"})


async def test_connection_row_is_deleted_with_its_credentials(directory, initialized_deployment):
    workspace = initialized_deployment.workspace
    row = Connection(workspace.id, "meta", ProviderKind.ADS, ConnectionStatus.PENDING, NOW)
    async with directory.transactions.write(workspace.id) as transaction:
        await transaction.tables.save_row(row)
        await transaction.tables.save_row(EncryptedSecrets(workspace.id, "meta", b"sealed"))
        await transaction.tables.save_row(replace(row, status=ConnectionStatus.CONNECTED))
    (saved,) = await rows(directory, workspace, Connection)
    assert (saved.provider, saved.status) == ("meta", ConnectionStatus.CONNECTED)
    assert len(await rows(directory, workspace, EncryptedSecrets)) == 1
    async with directory.transactions.write(workspace.id) as transaction:
        await transaction.tables.delete_rows(Connection, provider="meta")
    assert await rows(directory, workspace, Connection) == []
    assert await rows(directory, workspace, EncryptedSecrets) == []
