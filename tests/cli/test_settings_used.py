"""The settings file and the store that a command names, and stores that it never fills."""

import json
from pathlib import Path

import psycopg
import pytest
import typer

from hosts.cli.commands import app
from hosts.cli.settings_used import NAMES_SETTINGS
from service_core.testing.postgres_server import temporary_database

COMMANDS_WITHOUT_CHANGES = {
    *("status", "doctor", "backup", "query", "plugins", "key list", "member list", "person erasures"),
    *("person tombstones", "person export", "postbacks list", "quarantine list", "workspace show"),
    *(
        "connection list",
        "connection test",
        "lake status",
        "lake dbt-sources",
        "domain list",
        "import list",
        "config check",
        "plugin new",
        "plugin check",
    ),
}
COMMANDS_THAT_RUN_OR_CREATE_A_DEPLOYMENT = {"init", "serve", "worker", "restore", "demo", "docs"}


def list_commands(group, names=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, (*names, name))
        else:
            yield " ".join((*names, name)), command


def test_every_command_that_changes_a_deployment_names_its_settings():
    naming = {
        name
        for name, command in list_commands(typer.main.get_command(app))
        if not getattr(command.callback, NAMES_SETTINGS, False)
    }
    assert naming == COMMANDS_WITHOUT_CHANGES | COMMANDS_THAT_RUN_OR_CREATE_A_DEPLOYMENT


def test_changing_command_names_settings_and_store_on_standard_error(touchpoint, deployment):
    config = Path(deployment["config"])
    sentence = (
        f"Settings: {config}. Workspace store: {config.with_name('workspace.db')}, which storage.workspace names "
        f"according to {config}."
    )
    for command in (("key", "create", "--name", "Bot"), ("workspace", "set", "--window-days", "7")):
        changed = touchpoint(*command, "--config", config)
        assert sentence in changed.stderr
        assert sentence not in changed.stdout
    created = touchpoint("workspace", "create", "--name", "Cafe", "--json", "--config", config)
    assert created.stderr == ""
    assert json.loads(created.stdout)["config"] == str(config)
    assert (
        "Settings:"
        not in touchpoint(
            "workspace", "show", "--workspace", deployment["workspace_id"], "--config", config
        ).stderr
    )


def test_setting_of_the_environment_is_named_without_its_password(touchpoint, tmp_path, workspace_postgres):
    url = workspace_postgres.replace("touchpoint@", "touchpoint:sesame@")
    named = {"TOUCHPOINT_STORAGE__WORKSPACE": url}
    made = json.loads(touchpoint("init", tmp_path / "shop", "--name", "Shop", "--json", **named).stdout)
    created = touchpoint("key", "create", "--name", "Bot", "--config", made["config"], **named)
    assert "according to the environment variable TOUCHPOINT_STORAGE__WORKSPACE" in created.stderr
    assert "touchpoint:***@" in created.stderr
    assert "sesame" not in created.output + created.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("workspace", "create", "--name", "Cafe"), ("workspace", "set", "--window-days", "7"), ("workspace", "show"),
        ("workspace", "delete", "w", "--yes"), ("key", "list"), ("member", "add", "a@example.com"),
        ("connection", "list"), ("domain", "list"), ("quarantine", "replay"), ("person", "erase", "p", "--yes"),
        ("person", "export", "p"), ("import", "events", "events.ndjson"), ("ads", "sync"),
        ("move", "workspace", "--to", "sqlite:///new.db"),
    ],
)  # fmt: skip
def test_command_refuses_a_database_server_without_tables(touchpoint, tmp_path, postgres_session, command):
    with temporary_database(postgres_session) as url:
        file = tmp_path / "touchpoint.toml"
        file.write_text(f'[storage]\nworkspace = "{url}"\n')
        events = tmp_path / "events.ndjson"
        events.write_text('{"event": "signup", "user_id": "u1"}\n')
        named = [str(events) if part == events.name else part for part in command]
        refused = touchpoint(*named, "--config", file, code=2).stderr
        assert "The workspace store is empty" in refused
        assert "touchpoint init DIR" in refused
        assert not _has_tables(url)


def test_status_and_doctor_report_a_database_server_without_tables(touchpoint, tmp_path, postgres_session):
    with temporary_database(postgres_session) as url:
        file = tmp_path / "touchpoint.toml"
        file.write_text(f'[storage]\nworkspace = "{url}"\n')
        assert "The workspace store is empty" in touchpoint("status", "--config", file).stdout
        assert "The workspace store is empty" in touchpoint("doctor", "--config", file, code=1).stdout
        assert not _has_tables(url)


def _has_tables(url):
    with psycopg.connect(url) as connection:
        query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        return connection.execute(query).fetchone()[0] > 0
