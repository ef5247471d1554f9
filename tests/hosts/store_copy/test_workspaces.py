"""All a workspace store keeps moves into an empty one, whichever database each of them is."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from hosts.cli import app
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.ports import start_adapters
from hosts.consumer_lock import try_consumer_lock
from hosts.store_copy.copy_workspace_store import copy_and_compare_workspace_store
from plugins.workspace_sql.adapter import open_store  # noqa: F401 - with every table there is
from plugins.workspace_sql.column_types import Instant, plain_type
from plugins.workspace_sql.records import METADATA
from plugins.workspace_sql.schema import DATABASE_TABLES
from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.errors import StartupError
from service_core.kernel.ids import sha256_hex
from tests.fixtures.databases import LONG_TIMEOUT

NOW = datetime(2026, 7, 8, 15, 0, 0, 123456, tzinfo=UTC)
KINDS = [table.name for table in METADATA.sorted_tables if table not in DATABASE_TABLES]
MANY = 1003
"""More than one page."""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "touchpoint.toml"
    file.write_text("")
    return file


@pytest.fixture
def workspace_adapter(tmp_path):
    return load_installed_registry_once().open_adapter(
        "workspace", "sqlite:///workspace.db", base_folder=tmp_path
    )


def sample_value(column, number):
    """Something each type can go wrong with."""
    values = {
        Instant: NOW + timedelta(days=number, microseconds=number),
        sa.Uuid: UUID(int=number + 1),
        sa.Boolean: number % 2 == 0,
        sa.LargeBinary: bytes([number % 256, 0, 255]),
        sa.JSON: {"ö": [number, 0.1, None, "\U0001f6d2"], "a": {"b": True}},
        sa.Date: date(2026, 1, 1) + timedelta(days=number),
    }
    kind = plain_type(column.type)
    return f"{number} ö" if isinstance(kind, sa.String) else values.get(type(kind), number)


def sample_row(table, number, parents):
    """A record; what refers to another refers to the first of its kind."""
    return {
        column.name: None
        if column.nullable and number % 2
        else next((parents[key.column] for key in column.foreign_keys), sample_value(column, number))
        for column in table.columns
    }


async def fill_store(store):
    """A store with a few records of every kind there is, and one kind with many."""
    parents = {}

    async def pages():
        for name in KINDS:
            table = METADATA.tables[name]
            alone = {column.name for column in table.primary_key} <= {
                column.name for column in table.columns if column.foreign_keys
            }
            count = 1 if alone else MANY if name == "exchange_rates" else 3
            rows = [sample_row(table, number, parents) for number in range(count)]
            parents.update({column: rows[0][column.name] for column in table.columns})
            yield name, rows

    await store.transfer.import_rows_into_empty_store(pages())


async def read_content(store):
    return {
        name: sorted(map(repr, (sorted(record.items()) for page in [rows] for record in page)))
        async for name, rows in store.transfer.export_rows()
    }


async def test_every_record_survives_a_copy_through_both_databases(
    config, tmp_path, workspace_adapter, postgres_url
):
    server, back = f"{postgres_url}?{LONG_TIMEOUT}", "sqlite:///back.db"
    async with start_adapters([workspace_adapter]):
        await fill_store(workspace_adapter)
    reported = []
    moved = await copy_and_compare_workspace_store(config, None, server, lambda *page: reported.append(page))
    assert set(moved.counts) == set(KINDS)
    assert moved.counts["exchange_rates"] == MANY
    assert sum(count for _, count in reported) == moved.counts.total()
    assert await copy_and_compare_workspace_store(config, server, back, lambda *_page: None) == moved
    last = load_installed_registry_once().open_adapter("workspace", back, base_folder=tmp_path)
    async with start_adapters([workspace_adapter, last]):
        assert await read_content(last) == await read_content(workspace_adapter)


async def test_api_keys_work_after_the_copy(config, tmp_path, workspace_adapter):
    async with start_adapters([workspace_adapter]):
        initialized_deployment = await create_workspace_with_keys(
            workspace_adapter.credentials, NOW, name="Shop", timezone="Europe/Berlin"
        )
    await copy_and_compare_workspace_store(config, None, "sqlite:///new.db", lambda *_page: None)
    moved = load_installed_registry_once().open_adapter("workspace", "sqlite:///new.db", base_folder=tmp_path)
    async with start_adapters([moved]):
        found = await moved.credentials.find_auth_context(sha256_hex(initialized_deployment.agent_key.secret))
        assert found.workspace == initialized_deployment.workspace


async def test_non_empty_target_is_refused_and_unchanged(config, tmp_path, workspace_adapter):
    other = load_installed_registry_once().open_adapter(
        "workspace", "sqlite:///other.db", base_folder=tmp_path
    )
    async with start_adapters([workspace_adapter, other]):
        await create_workspace_with_keys(workspace_adapter.credentials, NOW, name="Shop")
        kept = await create_workspace_with_keys(other.credentials, NOW, name="Other")
    with pytest.raises(StartupError, match="Name an empty database"):
        await copy_and_compare_workspace_store(config, None, "sqlite:///other.db", lambda *_page: None)
    async with start_adapters([other]):
        assert await other.credentials.list_workspaces() == [kept.workspace]


async def test_one_changed_record_of_many_is_reported_with_its_kind(config, workspace_adapter, monkeypatch):
    async with start_adapters([workspace_adapter]):
        await fill_store(workspace_adapter)
    transfer = type(workspace_adapter.transfer)
    import_rows = transfer.import_rows_into_empty_store

    async def import_with_a_wrong_rate(self, pages):
        async def with_a_wrong_rate():
            async for kind, rows in pages:
                wrong = (
                    [rows[0] | {"per_euro": rows[1]["per_euro"]}, *rows[1:]]
                    if kind == "exchange_rates"
                    else rows
                )
                yield kind, wrong

        await import_rows(self, with_a_wrong_rate())

    monkeypatch.setattr(transfer, "import_rows_into_empty_store", import_with_a_wrong_rate)
    with pytest.raises(StartupError, match="says something else of: exchange_rates\\."):
        await copy_and_compare_workspace_store(config, None, "sqlite:///new.db", lambda *_page: None)


async def test_failed_copy_leaves_the_target_empty(config, tmp_path, workspace_adapter):
    async with start_adapters([workspace_adapter]):
        await fill_store(workspace_adapter)

    def full(kind, _count):
        if kind == KINDS[-1]:
            raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        await copy_and_compare_workspace_store(config, None, "sqlite:///new.db", full)
    new = load_installed_registry_once().open_adapter("workspace", "sqlite:///new.db", base_folder=tmp_path)
    async with start_adapters([new]):
        assert await new.credentials.list_workspaces() == []
    assert (
        await copy_and_compare_workspace_store(config, None, "sqlite:///new.db", lambda *_page: None)
    ).counts.total() > MANY


async def create_tables(workspace_adapter):
    async with start_adapters([workspace_adapter]):
        pass


def test_command_prints_copied_records_and_next_steps(config, workspace_adapter, tmp_path):
    runner = CliRunner(env={"COLUMNS": "200"})
    asyncio.run(create_tables(workspace_adapter))
    made = runner.invoke(app, ["workspace", "create", "--name", "Shop", "--config", str(config)])
    assert made.exit_code == 0, made.output
    move = ["move", "workspace", "--to", "sqlite:///new.db", "--config", str(config)]
    with try_consumer_lock(tmp_path):
        refused = runner.invoke(app, move)
    assert refused.exit_code == 2
    assert "Stop every `touchpoint serve` of it first" in refused.output
    done = runner.invoke(app, move)
    assert done.exit_code == 0, done.output
    assert "are the same on both sides" in done.output
    assert "storage.workspace" in done.output
