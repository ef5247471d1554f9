"""What the store keeps of credentials is sealed, and goes with its connection."""

from datetime import timedelta
from uuid import uuid4

from plugins import vault_keys
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.credentials.encrypted_secrets import EncryptedConnectionSecrets
from service_core.extensions.registry import load_plugins

REGISTRY = load_plugins([("vault_keys", vault_keys)], discover=False)
CREDENTIALS = {"access_token": "EAAB-geheim", "app_id": "77"}


def sealing(directory, folder):
    return EncryptedConnectionSecrets(
        directory.encrypted_secrets,
        REGISTRY.open_adapter("vault", "keyfile:///connections.key", folder=folder),
    )


async def test_credentials_are_kept_replaced_and_forgotten_and_the_store_sees_none(
    directory, initialized_deployment, tmp_path
):
    secrets, own = sealing(directory, tmp_path), initialized_deployment.workspace.id
    assert await secrets.secrets(own, "meta") is None
    await secrets.save_secrets(own, "meta", {"access_token": "old"})
    await secrets.save_secrets(own, "meta", CREDENTIALS)
    assert await secrets.secrets(own, "meta") == CREDENTIALS
    kept = await directory.encrypted_secrets.encrypted_secrets(own, "meta")
    assert b"geheim" not in kept
    assert await directory.encrypted_secrets.encrypted_secrets(own, "google") is None
    await secrets.save_secrets(own, "meta", {})
    assert await secrets.secrets(own, "meta") is None


async def test_credentials_go_when_their_connection_is_removed(directory, initialized_deployment, tmp_path):
    secrets, own = sealing(directory, tmp_path), initialized_deployment.workspace
    connection = Connection(own.id, "meta", ProviderKind.ADS, ConnectionStatus.CONNECTED, own.created_at)
    await directory.connections.save_connection(connection)
    await secrets.save_secrets(own.id, "meta", CREDENTIALS)
    assert await directory.connections.remove_connection(own.id, "meta")
    assert await secrets.secrets(own.id, "meta") is None


async def test_one_of_many_has_the_turn_to_read_a_workspace_until_it_ends_or_died(
    open_directory, directory, initialized_deployment
):
    own, now = initialized_deployment.workspace.id, initialized_deployment.workspace.created_at
    until, first, second = now + timedelta(minutes=5), uuid4(), uuid4()
    assert await directory.sync_leases.acquire_lease(own, "ads", first, now, until)
    assert await directory.sync_leases.acquire_lease(
        own, "revenue", second, now, until
    )  # another kind of thing
    async with open_directory() as other:
        assert not await other.sync_leases.acquire_lease(own, "ads", second, now, until)
        assert await directory.sync_leases.acquire_lease(own, "ads", first, now, until + timedelta(minutes=5))
        assert not await other.sync_leases.acquire_lease(
            own, "ads", second, until, until + timedelta(minutes=5)
        )
        await other.sync_leases.release_lease(own, "ads", second)  # it never had it
        assert not await other.sync_leases.acquire_lease(own, "ads", second, now, until)
        await directory.sync_leases.release_lease(own, "ads", first)
        assert await other.sync_leases.acquire_lease(own, "ads", second, now, until)
        assert await directory.sync_leases.acquire_lease(
            own, "ads", first, until, until + timedelta(minutes=5)
        )
