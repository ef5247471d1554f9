"""How far providers were read goes with their connection, and which messages were kept stays for ever."""

import asyncio
from datetime import timedelta
from uuid import uuid4

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from plugins.workspace_sql.schema import SCRIPTS
from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.commerce.sync.freshness import PollState
from tests.plugins.workspace_sql.conftest import NOW


async def test_a_read_is_replaced_and_goes_with_its_connection(directory, initialized_deployment):
    own = initialized_deployment.workspace.id
    assert await directory.poll_states(own) == {}
    for read in (PollState(NOW), PollState(NOW, NOW + timedelta(hours=1))):
        await directory.save_poll_state(own, "stripe", read)
        await directory.save_poll_state(own, "shopify", PollState())
        assert await directory.poll_states(own) == {"stripe": read, "shopify": PollState()}
    connection = Connection(own, "stripe", ProviderKind.REVENUE, ConnectionStatus.CONNECTED, NOW)
    await directory.save_connection(connection)
    await directory.mark_processed(own, "stripe", ["evt_1"])
    await directory.remove_connection(own, "stripe")
    assert set(await directory.poll_states(own)) == {"shopify"}
    assert await directory.processed_messages(own, "stripe", ["evt_1"]) == {"evt_1"}


async def test_messages_are_kept_by_workspace_and_provider_however_many_and_by_whom(
    opened, directory, initialized_deployment
):
    own, ids = initialized_deployment.workspace.id, {f"evt_{number}" for number in range(900)}
    other = await create_workspace_with_keys(directory, NOW, name="Other", timezone="UTC", currency="EUR")
    async with opened() as second:
        await asyncio.gather(
            *(one.mark_processed(own, "stripe", ids) for one in (directory, second, directory)),
            directory.mark_processed(own, "stripe", []),
        )
    assert await directory.processed_messages(own, "stripe", ids | {"evt_900"}) == ids
    assert await directory.processed_messages(own, "shopify", ids) == frozenset()
    assert await directory.processed_messages(other.workspace.id, "stripe", ids) == frozenset()
    assert await directory.processed_messages(own, "stripe", []) == frozenset()


def test_what_webhooks_told_before_messages_were_remembered_is_not_read_again(tmp_path):
    """An earlier version kept no ids: the first reading of its connections begins where their messages ended."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    engine = create_engine(f"sqlite:///{tmp_path}/workspace.db")
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "0019")
            for provider, kind, synced in (
                ("stripe", "revenue", "2026-07-01"),
                ("whop", "revenue", None),
                ("meta", "ads", "2026-07-01"),
            ):
                connection.exec_driver_sql(
                    "INSERT INTO connections (workspace_id, provider, kind, status, accounts, last_synced_at, created_at)"
                    " VALUES (?, ?, ?, 'connected', '[]', ?, '2026-06-01')",
                    (uuid4().hex, provider, kind, synced),
                )
            command.upgrade(config, "0020")
            kept = connection.exec_driver_sql("SELECT provider, since, read_at FROM poll_states")
            assert kept.all() == [("stripe", "2026-07-01", None)]
    finally:
        engine.dispose()
