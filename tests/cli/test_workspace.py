"""``touchpoint workspace``: make one; show and set the rules it follows."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from plugins.workspace_sql.credentials import SqlWorkspaceSettings
from service_core.delivery.imports.models import ImportFormat, ImportJob
from service_core.kernel.ids import new_id
from service_core.testing.event_builder import EventBuilder

DEFAULT_SETTINGS = {
    "conversions": None,
    "any_revenue": True,
    "revenue_events": [],
    "channels": [],
    "model": None,
    "window_days": None,
    "event_retention_days": None,
    "fees": [],
}


@pytest.fixture
def workspace(touchpoint, deployment):
    def run(*arguments):
        shown = json.loads(touchpoint("workspace", *arguments, "--config", deployment["config"]).stdout)
        assert shown.pop("workspace") == deployment["workspace_id"]
        return shown

    return run


def test_new_workspace_has_default_settings(workspace):
    assert workspace("show") == DEFAULT_SETTINGS


def test_setting_is_kept_until_it_is_changed(workspace):
    first = workspace("set", "--conversion", "webinar", "--conversion", "purchase", "--no-any-revenue")
    assert first == DEFAULT_SETTINGS | {"conversions": ["purchase", "webinar"], "any_revenue": False}
    rule = 'custom:crm source=news* "campaign=spring sale"'
    second = workspace("set", "--channel", rule, "--model", "linear", "--window-days", "7")
    channels = [{"id": "custom:crm", "source": "news*", "campaign": "spring sale"}]
    assert second == first | {"channels": channels, "model": "linear", "window_days": 7}
    assert workspace("show") == second


def test_name_time_zone_currency_and_site_are_set(workspace):
    identity = (
        "--name",
        "Cafe Nord",
        "--timezone",
        "Europe/Oslo",
        "--currency",
        "NOK",
        "--domain",
        "cafe.example",
    )
    expected = {"name": "Cafe Nord", "timezone": "Europe/Oslo", "currency": "NOK", "domain": "cafe.example"}
    assert workspace("set", *identity) == DEFAULT_SETTINGS | expected
    assert workspace("set", "--domain", "") == DEFAULT_SETTINGS | {"domain": None}
    assert workspace("show") == DEFAULT_SETTINGS


@pytest.mark.parametrize(
    ("option", "code", "said"),
    [(("--timezone", "Mars/Base"), 1, "Mars/Base"), (("--currency", "XXQ"), 2, "ISO 4217")],
)
def test_unknown_time_zone_or_currency_is_refused(touchpoint, deployment, option, code, said):
    refused = touchpoint("workspace", "set", *option, "--config", deployment["config"], code=code)
    assert said in " ".join(refused.output.split())


def test_default_settings_are_restored_by_one_option(workspace):
    workspace("set", "--conversion", "webinar", "--model", "linear")
    assert workspace("set", "--usual", "--window-days", "90") == DEFAULT_SETTINGS | {"window_days": 90}


def test_fee_rates_are_set_and_removed(workspace):
    rates = ("--fee", "stripe 2.9% 0.30 usd", "--fee", "tracked 1.25%")
    fees = [
        {"provider": "stripe", "percent": 2.9, "fixed": 0.3, "currency": "USD"},
        {"provider": "tracked", "percent": 1.25, "fixed": 0.0, "currency": None},
    ]
    assert workspace("set", *rates) == DEFAULT_SETTINGS | {"fees": fees}
    assert workspace("show")["fees"] == fees
    assert workspace("set", "--fee", "") == DEFAULT_SETTINGS


@pytest.mark.parametrize(
    ("rates", "code", "said"),
    [
        (["stripe"], 2, "does not read like"),
        (["stripe 2.9"], 2, "does not read like"),
        (["stripe 2.9% 0.30"], 2, "does not read like"),
        (["S! 1%"], 2, "does not read like"),
        (["stripe 101%"], 1, "out of range"),
        (["stripe 2% 1 XXQ"], 1, "no currency of ISO 4217"),
        (["stripe 2%", "stripe 3%"], 1, "One rate for each provider and currency"),
    ],
)
def test_invalid_fee_rates_are_refused(touchpoint, deployment, rates, code, said):
    options = [part for rate in rates for part in ("--fee", rate)]
    refused = touchpoint("workspace", "set", *options, "--config", deployment["config"], code=code)
    assert said in " ".join(refused.output.split())


def test_event_retention_is_set_and_lifted(workspace):
    assert workspace("set", "--event-retention-days", "400") == DEFAULT_SETTINGS | {
        "event_retention_days": 400
    }
    assert workspace("set", "--event-retention-days", "0") == DEFAULT_SETTINGS


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--channel", "crm source=news"), "custom:"),
        (("--channel", "custom:crm"), "names no source"),
        (("--channel", "custom:crm origin=news"), "does not read like"),
        (("--channel", "custom:crm source=*a*b*c*"), "stars"),
        (("--model", "guess"), "Unknown attribution model"),
        (("--model", "markov"), "cannot be the default"),
        (("--window-days", "0"), "1 to 365"),
        (("--event-retention-days", "-1"), "1 to 36500"),
        (("--conversion", ""), "none of them empty"),
    ],
)
def test_invalid_setting_is_refused_and_changes_nothing(touchpoint, deployment, workspace, arguments, said):
    code = 2 if said == "does not read like" else 1
    result = touchpoint("workspace", "set", *arguments, "--config", deployment["config"], code=code)
    assert said in result.stderr
    assert workspace("show") == DEFAULT_SETTINGS


def test_second_workspace_is_created_in_a_deployment(touchpoint, deployment):
    config = "--config", deployment["config"]
    made = json.loads(
        touchpoint(
            "workspace", "create", "--name", "Cafe", "--timezone", "Asia/Tokyo", "--json", *config
        ).stdout
    )
    assert made.keys() == deployment.keys()
    assert made["workspace_id"] != deployment["workspace_id"]
    listed = touchpoint("key", "list", "--workspace", made["workspace_id"], *config).stdout
    assert made["agent_key"][-4:] in listed
    assert f"{made['workspace_id']} (Cafe)" in touchpoint("key", "list", *config, code=2).stderr
    refused = touchpoint("workspace", "create", "--name", "Bar", "--timezone", "Tokyo", *config, code=1)
    assert "IANA name" in refused.stderr


def test_deployment_without_a_workspace_prints_a_hint(touchpoint, deployment):
    file = Path(deployment["config"])
    with closing(sqlite3.connect(file.with_name("workspace.db"))) as connection, connection:
        connection.execute("DELETE FROM credentials")
        connection.execute("DELETE FROM workspaces")
    for command in (("key", "list"), ("workspace", "show")):
        refused = touchpoint(*command, "--config", file, code=2)
        assert "no workspace. Make one with `touchpoint workspace create --name NAME`" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("workspace", "create", "--name", "Cafe"), ("workspace", "show"), ("key", "list"), ("member", "list"),
        ("connection", "list"), ("domain", "list"), ("quarantine", "list"), ("fx",),
    ],
)  # fmt: skip
def test_no_command_creates_an_empty_store(touchpoint, tmp_path, command):
    """As on a server whose unit has the settings in its environment, and the command line has not."""
    file = tmp_path / "touchpoint.toml"
    file.write_text("")
    refused = touchpoint(*command, "--config", file, code=2).stderr
    assert (
        f"There is no {tmp_path / 'workspace.db'}, which storage.workspace names according to {file}"
        in refused
    )
    assert [path.name for path in tmp_path.iterdir()] == ["touchpoint.toml"]


async def _append_one_event_per_workspace(file):
    """Stores an event of each workspace of a deployment; returns the internal ids by public id."""
    ports = load_ports(file)
    async with start_adapters([ports.workspace, ports.events]):
        workspaces = await ports.workspace.credentials.list_workspaces()
        builder = EventBuilder()
        for number, workspace in enumerate(workspaces):
            builder.add_event("page_view", at="2026-03-02T15:00", visitor="A1")
            event = replace(builder.events[-1], workspace_id=workspace.id, event_id=f"e{number}")
            assert await ports.events.append([event]) == 1
    return {workspace.public_id: workspace.id for workspace in workspaces}


async def _workspaces_with_events(file, ids):
    ports = load_ports(file)
    async with start_adapters([ports.events]):
        return {
            public_id
            for public_id, id_ in ids.items()
            if await ports.events.first_and_last_event_time(id_) is not None
        }


async def _add_import_with_file(file, workspace_id):
    """Adds an import that waits for its start, and stores its file; returns the file's path."""
    ports = load_ports(file)
    async with start_adapters([ports.workspace, ports.export_storage]):
        job = ImportJob(new_id(), workspace_id, new_id(), ImportFormat.CSV, "a.csv", datetime.now(UTC))
        job = job.begin_upload(new_id())
        assert await ports.workspace.imports.add_import_unless_too_many(job, 5)
        async with ports.export_storage.open_for_write(job.stored_name, job.stored_name) as stored:
            stored.write(b"person")
    (path,) = file.parent.rglob(job.stored_name)
    return path


def _write_lake_file_while_workspace_is_deleted(monkeypatch, lake):
    """Writes a file as the running service may until the workspace is gone; returns its path."""
    path = lake / "events" / "date=2026-07-01" / "late.parquet"
    delete = SqlWorkspaceSettings.delete_workspace

    async def write_file_and_delete(store, workspace_id):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"person")
        return await delete(store, workspace_id)

    monkeypatch.setattr(SqlWorkspaceSettings, "delete_workspace", write_file_and_delete)
    monkeypatch.setenv("TOUCHPOINT_LAKE__STORAGE", "local:///lake")
    return path


def test_deleted_workspace_leaves_nothing_and_others_stay(touchpoint, deployment, monkeypatch):
    file, kept = Path(deployment["config"]), deployment["workspace_id"]
    config = "--config", file
    cafe = json.loads(touchpoint("workspace", "create", "--name", "Cafe", "--json", *config).stdout)[
        "workspace_id"
    ]
    touchpoint("member", "add", "ann@example.com", "--role", "owner", "--workspace", cafe, *config)
    touchpoint("connection", "add", "meta", "--workspace", cafe, *config)
    ids = asyncio.run(_append_one_event_per_workspace(file))
    uploaded, other_upload = (asyncio.run(_add_import_with_file(file, ids[name])) for name in (cafe, kept))
    refused = touchpoint("workspace", "delete", cafe, *config, typed="other\n", code=2)
    assert "nothing was deleted" in refused.stderr
    assert asyncio.run(_workspaces_with_events(file, ids)) == {kept, cafe}
    late = _write_lake_file_while_workspace_is_deleted(monkeypatch, file.with_name("lake") / cafe)
    result = touchpoint("workspace", "delete", cafe, *config, typed=f"{cafe}\n").stdout
    assert not late.exists()
    assert f"Cafe ({cafe}) is deleted, with 1 events." in result
    assert asyncio.run(_workspaces_with_events(file, ids)) == {kept}
    assert json.loads(touchpoint("workspace", "show", *config).stdout)["workspace"] == kept
    with closing(sqlite3.connect(file.with_name("workspace.db"))) as connection:
        counts = [
            connection.execute(
                f"SELECT count(*) FROM {table} WHERE workspace_id = ?", [ids[cafe].hex]
            ).fetchone()[0]
            for table in ("credentials", "members", "connections")
        ]
    assert counts == [0, 0, 0]
    assert (uploaded.exists(), other_upload.exists()) == (False, True)
    assert "name one workspace" in touchpoint("workspace", "delete", cafe, "--yes", *config, code=2).stderr
