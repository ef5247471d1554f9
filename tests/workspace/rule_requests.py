"""A rule, a connected platform for it, and the request that creates it."""

from service_core.analytics.connections.models import (
    Asset,
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)

RULE = {
    "name": "Purchase to Meta",
    "trigger_event": "purchase",
    "platform": "meta",
    "platform_event": "Purchase",
}
MAIN = ConnectedAccount("act_1", "Main", (Asset("1234", "Shop pixel"),))


async def connect_platform(workspace_api, provider, *accounts, status=ConnectionStatus.CONNECTED):
    store = workspace_api.service.ports.workspace
    (shop, _) = await store.credentials.list_workspaces()
    made = Connection(shop.id, provider, ProviderKind.ADS, status, workspace_api.now, accounts)
    await store.connections.save_connection_keeping_created_at(made)


async def create_rule(workspace_api, **fields):
    made = await workspace_api.ask("POST", "/rules", {"rule": RULE | fields})
    assert made.status == 200, made.json
    return made.json
