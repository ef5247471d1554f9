"""All a workspace store keeps moves into an empty one, whichever database each of them is."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from hosts.cli import app
from hosts.composition.compose import installed
from hosts.composition.ports import running
from hosts.moving.workspaces import move_workspaces
from hosts.ownership import consumer_of
from plugins.workspace_sql.adapter import directory_in  # noqa: F401 - with every table there is
from plugins.workspace_sql.columns import Instant
from plugins.workspace_sql.tables import GENERATION, METADATA
from service_core.access.keys import found_workspace
from service_core.kernel.errors import StartupError
from service_core.kernel.ids import digest
from tests.databases import PATIENT

NOW = datetime(2026, 7, 8, 15, 0, 0, 123456, tzinfo=UTC)
KINDS = [table.name for table in METADATA.sorted_tables if table is not GENERATION]
MANY = 1003
"""More than one page."""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "touchpoint.toml"
    file.write_text("")
    return file


@pytest.fixture
def present(tmp_path):
    return installed().open("workspace", "sqlite:///workspace.db", folder=tmp_path)


def value(column, number):
    """Something each type can go wrong with."""
    values = {
        Instant: NOW + timedelta(days=number, microseconds=number),
        sa.Uuid: UUID(int=number + 1),
        sa.Boolean: number % 2 == 0,
        sa.LargeBinary: bytes([number % 256, 0, 255]),
        sa.JSON: {"ö": [number, 0.1, None, "\U0001f6d2"], "a": {"b": True}},
        sa.Date: date(2026, 1, 1) + timedelta(days=number),
    }
    if isinstance(column.type, sa.String):
        return f"{number} ö"[: column.type.length]
    return values.get(type(column.type), number)


def row(table, number, parents):
    """A record; what refers to another refers to the first of its kind."""
    return {
        column.name: None
        if column.nullable and number % 2
        else next((parents[key.column] for key in column.foreign_keys), value(column, number))
        for column in table.columns
    }


async def filled(store):
    """A store with a few records of every kind there is, and one kind with many."""
    parents = {}

    async def pages():
        for name in KINDS:
            table = METADATA.tables[name]
            alone = {column.name for column in table.primary_key} <= {
                column.name for column in table.columns if column.foreign_keys
            }
            count = 1 if alone else MANY if name == "fx_rates" else 3
            rows = [row(table, number, parents) for number in range(count)]
            parents.update({column: rows[0][column.name] for column in table.columns})
            yield name, rows

    await store.take(pages())


async def content(store):
    return {
        name: sorted(map(repr, (sorted(record.items()) for page in [rows] for record in page)))
        async for name, rows in store.records()
    }


async def test_every_record_of_every_kind_comes_over_as_it_was_through_both_databases(
    config, tmp_path, present, postgres_url
):
    server, back = f"{postgres_url}?{PATIENT}", "sqlite:///back.db"
    async with running([present]):
        await filled(present)
    told = []
    moved = await move_workspaces(config, None, server, lambda *page: told.append(page))
    assert set(moved.counts) == set(KINDS)
    assert moved.counts["fx_rates"] == MANY
    assert sum(count for _, count in told) == moved.counts.total()
    assert await move_workspaces(config, server, back, lambda *_page: None) == moved
    last = installed().open("workspace", back, folder=tmp_path)
    async with running([present, last]):
        assert await content(last) == await content(present)


async def test_a_key_of_before_opens_the_same_workspace_after(config, tmp_path, present):
    async with running([present]):
        founded = await found_workspace(present, NOW, name="Shop", timezone="Europe/Berlin")
    await move_workspaces(config, None, "sqlite:///new.db", lambda *_page: None)
    moved = installed().open("workspace", "sqlite:///new.db", folder=tmp_path)
    async with running([moved]):
        found = await moved.identify(digest(founded.agent_key.secret))
        assert found.workspace == founded.workspace


async def test_a_store_that_keeps_something_is_refused_and_stays_as_it_is(config, tmp_path, present):
    other = installed().open("workspace", "sqlite:///other.db", folder=tmp_path)
    async with running([present, other]):
        await found_workspace(present, NOW, name="Shop")
        kept = await found_workspace(other, NOW, name="Other")
    with pytest.raises(StartupError, match="Name an empty database"):
        await move_workspaces(config, None, "sqlite:///other.db", lambda *_page: None)
    async with running([other]):
        assert await other.workspaces() == [kept.workspace]


async def test_a_move_that_fails_on_its_way_leaves_the_new_store_empty(config, tmp_path, present):
    async with running([present]):
        await filled(present)

    def full(kind, _count):
        if kind == KINDS[-1]:
            raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        await move_workspaces(config, None, "sqlite:///new.db", full)
    new = installed().open("workspace", "sqlite:///new.db", folder=tmp_path)
    async with running([new]):
        assert await new.workspaces() == []
    assert (
        await move_workspaces(config, None, "sqlite:///new.db", lambda *_page: None)
    ).counts.total() > MANY


def test_the_command_says_what_was_moved_and_what_to_do(config, tmp_path):
    runner = CliRunner(env={"COLUMNS": "200"})
    made = runner.invoke(app, ["workspace", "create", "--name", "Shop", "--config", str(config)])
    assert made.exit_code == 0, made.output
    move = ["move", "workspace", "--to", "sqlite:///new.db", "--config", str(config)]
    with consumer_of(tmp_path):
        refused = runner.invoke(app, move)
    assert refused.exit_code == 2
    assert "Stop every `touchpoint serve` of it first" in refused.output
    done = runner.invoke(app, move)
    assert done.exit_code == 0, done.output
    assert "are the same on both sides" in done.output
    assert "storage.workspace" in done.output
