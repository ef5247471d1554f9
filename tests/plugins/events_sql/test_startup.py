"""URLs of the store, and the messages for wrong settings, files, servers and drivers."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from plugins.events_sql.settings import DuckDbSettings
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError


@pytest.mark.parametrize(
    "query", ["thread=2", "threads=two", "memory_limit=2 gigs", "checkpoint_threshold=-v", "readers=0"]
)
def test_invalid_setting_stops_the_start(tmp_path: Path, query: str) -> None:
    with pytest.raises(StartupError, match=query.partition("=")[0]):
        collect_plugins_into_registry().open_adapter(
            "events", f"duckdb:///events.db?{query}", base_folder=tmp_path
        )


async def test_file_that_is_no_database_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "events.db").write_text("not a database, but long enough to look like a file" * 99)
    store = collect_plugins_into_registry().open_adapter(
        "events", "duckdb:///events.db", base_folder=tmp_path
    )
    with pytest.raises(StartupError, match="cannot be opened"):
        await store.start()
    await store.aclose()


async def test_start_creates_the_folder_of_the_file(tmp_path: Path) -> None:
    store = collect_plugins_into_registry().open_adapter(
        "events", "duckdb:///new/newer/events.db", base_folder=tmp_path
    )
    await store.check()
    assert not (tmp_path / "new").exists()
    await store.start()
    await store.aclose()
    assert (tmp_path / "new" / "newer" / "events.db").exists()


async def test_store_in_memory_spills_nothing_into_the_working_directory(tmp_path: Path) -> None:
    store = collect_plugins_into_registry().open_adapter("events", "duckdb-memory://", base_folder=tmp_path)
    await store.start()
    try:
        [(folder,)] = await store._engine.run_read_within_time_budget(
            lambda runner: runner.execute_text("SELECT current_setting('temp_directory')")
        )
    finally:
        await store.aclose()
    assert folder == ""


async def test_file_in_place_of_the_folder_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    store = collect_plugins_into_registry().open_adapter(
        "events", "duckdb:///new/events.db", base_folder=tmp_path
    )
    with pytest.raises(StartupError, match="cannot be opened"):
        await store.start()
    await store.aclose()


async def test_check_names_a_folder_that_is_not_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    store = collect_plugins_into_registry().open_adapter(
        "events", "duckdb:///events.db", base_folder=tmp_path
    )
    with pytest.raises(StartupError, match=rf"{tmp_path} cannot be written .* in storage\.events\.$"):
        await store.check()


async def test_server_that_is_not_there_stops_the_start() -> None:
    store = collect_plugins_into_registry().open_adapter(
        "events", "postgresql://nobody@127.0.0.1:1/events", base_folder=Path()
    )
    with pytest.raises(StartupError, match="cannot be used"):
        await store.start()
    await store.aclose()


@pytest.mark.parametrize(
    ("url", "driver", "extra"),
    [
        ("postgresql://here/events", "psycopg", "postgres"),
        ("clickhouse://here/events", "clickhouse_connect", "clickhouse"),
    ],
)
def test_missing_driver_is_named_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch, url: str, driver: str, extra: str
) -> None:
    package = f"plugins.events_sql.dialects.{url.partition(':')[0]}.backend"
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(StartupError, match=rf"needs {driver}.*touchpoint-analytics\[{extra}\]"):
        collect_plugins_into_registry().open_adapter("events", url, base_folder=Path())


def test_default_time_budget_is_twenty_seconds() -> None:
    assert timedelta(seconds=DuckDbSettings(url="duckdb://").timeout_seconds) == timedelta(seconds=20)
