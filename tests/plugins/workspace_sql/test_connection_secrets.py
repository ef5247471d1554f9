"""What the store keeps of credentials is sealed, and goes with its connection."""

from datetime import timedelta
from uuid import uuid4

from plugins import cipher_keys
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.credentials.encrypted_secrets import EncryptedConnectionSecrets
from service_core.extensions.registry import collect_plugins_into_registry

REGISTRY = collect_plugins_into_registry([("cipher_keys", cipher_keys)], discover_entry_points=False)
CREDENTIALS = {"access_token": "EAAB-geheim", "app_id": "77"}


def encrypted_secrets(directory, folder):
    return EncryptedConnectionSecrets(
        directory.encrypted_secrets,
        REGISTRY.open_adapter("secret_cipher", "keyfile:///connections.key", base_folder=folder),
    )


async def test_credentials_are_stored_encrypted_replaced_and_deleted(
    directory, initialized_deployment, tmp_path
):
    secrets, own = encrypted_secrets(directory, tmp_path), initialized_deployment.workspace.id
    assert await secrets.find_secrets(own, "meta") is None
    await secrets.replace_or_delete_secrets(own, "meta", {"access_token": "old"})
    await secrets.replace_or_delete_secrets(own, "meta", CREDENTIALS)
    assert await secrets.find_secrets(own, "meta") == CREDENTIALS
    kept = await directory.encrypted_secrets.encrypted_secrets(own, "meta")
    assert b"geheim" not in kept
    assert await directory.encrypted_secrets.encrypted_secrets(own, "google") is None
    await secrets.replace_or_delete_secrets(own, "meta", {})
    assert await secrets.find_secrets(own, "meta") is None


async def test_removing_a_connection_deletes_its_credentials(directory, initialized_deployment, tmp_path):
    secrets, own = encrypted_secrets(directory, tmp_path), initialized_deployment.workspace
    connection = Connection(own.id, "meta", ProviderKind.ADS, ConnectionStatus.CONNECTED, own.created_at)
    await directory.connections.save_connection_keeping_created_at(connection)
    await secrets.replace_or_delete_secrets(own.id, "meta", CREDENTIALS)
    assert await directory.connections.remove_connection_if_present(own.id, "meta")
    assert await secrets.find_secrets(own.id, "meta") is None


async def test_one_process_holds_the_sync_lease_until_release_or_expiry(
    open_directory, directory, initialized_deployment
):
    own, now = initialized_deployment.workspace.id, initialized_deployment.workspace.created_at
    until, first, second = now + timedelta(minutes=5), uuid4(), uuid4()
    assert await directory.sync_leases.acquire_or_renew_lease(own, "ads", first, now, until)
    assert await directory.sync_leases.acquire_or_renew_lease(
        own, "revenue", second, now, until
    )  # another kind of thing
    async with open_directory() as other:
        assert not await other.sync_leases.acquire_or_renew_lease(own, "ads", second, now, until)
        assert await directory.sync_leases.acquire_or_renew_lease(
            own, "ads", first, now, until + timedelta(minutes=5)
        )
        assert not await other.sync_leases.acquire_or_renew_lease(
            own, "ads", second, until, until + timedelta(minutes=5)
        )
        await other.sync_leases.release_lease(own, "ads", second)  # it never had it
        assert not await other.sync_leases.acquire_or_renew_lease(own, "ads", second, now, until)
        await directory.sync_leases.release_lease(own, "ads", first)
        assert await other.sync_leases.acquire_or_renew_lease(own, "ads", second, now, until)
        assert await directory.sync_leases.acquire_or_renew_lease(
            own, "ads", first, until, until + timedelta(minutes=5)
        )
