"""What the store keeps of credentials is sealed, and goes with its connection."""

from datetime import timedelta
from uuid import uuid4

from plugins import vault_keys
from service_core.commerce.providers.sealing import Sealing
from service_core.extension.registry import load
from service_core.insight.connections.model import Connection, ConnectionStatus, ProviderKind

REGISTRY = load([("vault_keys", vault_keys)], discover=False)
CREDENTIALS = {"access_token": "EAAB-geheim", "app_id": "77"}


def sealing(directory, folder):
    return Sealing(directory, REGISTRY.open("vault", "keyfile:///connections.key", folder=folder))


async def test_credentials_are_kept_replaced_and_forgotten_and_the_store_sees_none(
    directory, founded, tmp_path
):
    secrets, own = sealing(directory, tmp_path), founded.workspace.id
    assert await secrets.secrets(own, "meta") is None
    await secrets.save_secrets(own, "meta", {"access_token": "old"})
    await secrets.save_secrets(own, "meta", CREDENTIALS)
    assert await secrets.secrets(own, "meta") == CREDENTIALS
    kept = await directory.sealed(own, "meta")
    assert b"geheim" not in kept
    assert await directory.sealed(own, "google") is None
    await secrets.save_secrets(own, "meta", {})
    assert await secrets.secrets(own, "meta") is None


async def test_credentials_go_when_their_connection_is_removed(directory, founded, tmp_path):
    secrets, own = sealing(directory, tmp_path), founded.workspace
    connection = Connection(own.id, "meta", ProviderKind.ADS, ConnectionStatus.CONNECTED, own.created_at)
    await directory.save_connection(connection)
    await secrets.save_secrets(own.id, "meta", CREDENTIALS)
    assert await directory.remove_connection(own.id, "meta")
    assert await secrets.secrets(own.id, "meta") is None


async def test_one_of_many_has_the_turn_to_read_a_workspace_until_it_ends_or_died(opened, directory, founded):
    own, now = founded.workspace.id, founded.workspace.created_at
    until, first, second = now + timedelta(minutes=5), uuid4(), uuid4()
    assert await directory.take_turn(own, "ads", first, now, until)
    assert await directory.take_turn(own, "revenue", second, now, until)  # another kind of thing
    async with opened() as other:
        assert not await other.take_turn(own, "ads", second, now, until)
        assert await directory.take_turn(own, "ads", first, now, until + timedelta(minutes=5))
        assert not await other.take_turn(own, "ads", second, until, until + timedelta(minutes=5))
        await other.end_turn(own, "ads", second)  # it never had it
        assert not await other.take_turn(own, "ads", second, now, until)
        await directory.end_turn(own, "ads", first)
        assert await other.take_turn(own, "ads", second, now, until)
        assert await directory.take_turn(own, "ads", first, until, until + timedelta(minutes=5))
