"""The directory on each database: SQLite and PostgreSQL keep the same promises."""

import asyncio
import gc
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.exc import IntegrityError

from plugins.workspace_sql import database
from plugins.workspace_sql.column_types import Instant
from plugins.workspace_sql.schema import run_missing_migrations
from service_core.access.analytics_settings import AnalyticsSettings, CustomChannel
from service_core.access.api_keys import (
    create_named_key_clamping_rate_limit_to_plan,
    create_workspace_with_keys,
    revoke_key_if_active,
)
from service_core.kernel.ids import sha256_hex
from service_core.kernel.operations import Scope
from tests.plugins.workspace_sql.conftest import NOW


async def test_saved_records_read_back_unchanged(directory, initialized_deployment):
    workspace = replace(
        initialized_deployment.workspace, id=initialized_deployment.agent_key.credential.id, public_id="k3Jx9QmZ2aPr", domain="example.com",
        active=False, allowed_origins=("https://example.com",), created_at=NOW + timedelta(hours=1),
    )  # fmt: skip
    await directory.credentials.create_workspace(workspace)
    minted = await create_named_key_clamping_rate_limit_to_plan(
        directory.credentials,
        workspace,
        NOW,
        name="Campaign bot",
        scopes=[Scope.READ, Scope.WRITE_LINKS],
        requested_rate_limit=7,
    )
    identity = await directory.credentials.find_auth_context(sha256_hex(minted.secret))
    assert identity.credential == minted.credential
    assert identity.workspace == workspace
    assert await directory.credentials.list_workspaces() == [initialized_deployment.workspace, workspace]
    assert await directory.credentials.list_keys(workspace.id) == [minted.credential]


@pytest.mark.parametrize(
    "rules",
    [
        AnalyticsSettings(),
        AnalyticsSettings(conversions=frozenset(), any_revenue=False),
        AnalyticsSettings(
            conversions=frozenset({"purchase", "webinar"}),
            channels=(
                CustomChannel("custom:crm", source="news*"),
                CustomChannel("custom:shop", campaign="*shop*"),
            ),
            model="linear",
            window_days=7,
        ),
    ],
)
async def test_workspace_settings_are_stored_and_visible_immediately(
    directory, initialized_deployment, rules
):
    changed = replace(initialized_deployment.workspace, rules=rules)
    before = directory.credentials.change_version()
    await directory.workspace_settings.replace_workspace_keeping_triggers(changed)
    assert directory.credentials.change_version() != before
    assert (
        await directory.credentials.find_auth_context(sha256_hex(initialized_deployment.agent_key.secret))
    ).workspace == changed
    assert await directory.credentials.list_workspaces() == [changed]


async def test_records_persist_after_a_restart(open_directory):
    async with open_directory() as first:
        initialized_deployment = await create_workspace_with_keys(first.credentials, NOW, name="Example Shop")
    async with open_directory() as second:
        assert await second.credentials.list_workspaces() == [initialized_deployment.workspace]
        assert len(await second.credentials.list_keys(initialized_deployment.workspace.id)) == 2


async def test_close_finishes_running_work_and_closes_connections(open_directory, initialized_deployment):
    async with open_directory() as closing:
        async with closing.transactions.write(initialized_deployment.workspace.id) as unit:
            await unit.triggers.replace_trigger_event_names({"purchase"})
            await closing.aclose()
        assert len(await closing.credentials.list_workspaces()) == 1  # somebody asks as late as that
    gc.collect()  # an open connection nobody has warns, and a warning fails the test


async def test_unknown_digest_and_a_revoked_key_match_nothing(directory, initialized_deployment):
    assert await directory.credentials.find_auth_context(sha256_hex("dk_agent_nothing")) is None
    await revoke_key_if_active(
        directory.credentials,
        initialized_deployment.workspace,
        initialized_deployment.write_key.credential.id,
        NOW,
    )
    assert (
        await directory.credentials.find_auth_context(sha256_hex(initialized_deployment.write_key.secret))
        is None
    )
    assert initialized_deployment.write_key.credential.id in {
        c.id for c in await directory.credentials.list_keys(initialized_deployment.workspace.id)
    }


async def test_revoked_key_stays_revoked_after_later_saves(directory, initialized_deployment):
    await revoke_key_if_active(
        directory.credentials,
        initialized_deployment.workspace,
        initialized_deployment.agent_key.credential.id,
        NOW,
    )
    await directory.credentials.save_credential(
        replace(initialized_deployment.agent_key.credential, name="Renamed")
    )
    assert (
        await directory.credentials.find_auth_context(sha256_hex(initialized_deployment.agent_key.secret))
        is None
    )
    kept = {c.id: c for c in await directory.credentials.list_keys(initialized_deployment.workspace.id)}[
        initialized_deployment.agent_key.credential.id
    ]
    assert (kept.name, kept.revoked_at) == ("Renamed", NOW)


async def test_directories_that_start_together_all_succeed(open_directory, monkeypatch):
    monkeypatch.setattr(database, "run_missing_migrations", run_missing_migrations)

    async def start(number):
        async with open_directory() as directory:
            await create_workspace_with_keys(directory.credentials, NOW, name=f"shop {number}")

    await asyncio.gather(*(start(number) for number in range(8)))
    async with open_directory() as directory:
        assert len(await directory.credentials.list_workspaces()) == 8


async def test_30_concurrent_writers_lose_nothing(open_directory, directory, initialized_deployment):
    before = directory.credentials.change_version()
    async with open_directory() as second, open_directory() as third:
        doors = [directory, second, third]
        minted = await asyncio.gather(
            *(
                create_named_key_clamping_rate_limit_to_plan(
                    doors[n % 3].credentials, initialized_deployment.workspace, NOW, name=f"key {n}"
                )
                for n in range(30)
            )
        )
        async with asyncio.timeout(30):
            while [store.credentials.change_version() for store in doors] != [before + 30] * 3:
                await asyncio.sleep(0.01)
    kept = {
        credential.id
        for credential in await directory.credentials.list_keys(initialized_deployment.workspace.id)
    }
    assert {one.credential.id for one in minted} <= kept


async def test_failed_write_changes_nothing(directory, initialized_deployment):
    before = directory.credentials.change_version()
    with pytest.raises(IntegrityError):
        await directory.credentials.create_workspace(initialized_deployment.workspace)
    stranger = replace(
        initialized_deployment.agent_key.credential,
        id=initialized_deployment.workspace.id,
        workspace_id=initialized_deployment.agent_key.credential.id,
    )
    with pytest.raises(IntegrityError):
        await directory.credentials.save_credential(
            stranger, sha256_hex("of a workspace that does not exist")
        )
    assert directory.credentials.change_version() == before
    assert await directory.credentials.list_workspaces() == [initialized_deployment.workspace]


def test_timestamps_are_stored_in_utc_and_need_a_zone():
    column = Instant()
    local = datetime(2026, 7, 8, 17, 0, tzinfo=timezone(timedelta(hours=2)))
    assert column.process_bind_param(local, None) == datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
    with pytest.raises(ValueError, match="zone"):
        column.process_bind_param(datetime(2026, 7, 8, 15, 0), None)  # noqa: DTZ001


async def test_deleted_workspace_takes_its_keys_along_and_is_invisible_at_once(
    directory, initialized_deployment
):
    other = await create_workspace_with_keys(directory.credentials, NOW, name="Cafe")
    before = directory.credentials.change_version()
    own = initialized_deployment.workspace
    assert await directory.workspace_settings.delete_workspace(own.id)
    assert directory.credentials.change_version() != before
    assert (
        await directory.credentials.find_auth_context(sha256_hex(initialized_deployment.agent_key.secret))
        is None
    )
    assert await directory.credentials.find_auth_context(sha256_hex(other.agent_key.secret)) is not None
    assert await directory.credentials.list_workspaces() == [other.workspace]
    assert not await directory.workspace_settings.delete_workspace(own.id)
