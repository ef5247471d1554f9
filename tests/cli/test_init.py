"""``touchpoint init``: one command makes a deployment that works."""

import json
import re
import sqlite3
import stat
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from hosts.cli.settings_file import render_settings_file
from hosts.composition.load_settings import load_settings_with_environment
from service_core.kernel.settings import Settings


def test_json_prints_one_object_with_four_fields_and_nothing_else(touchpoint, tmp_path):
    result = touchpoint("init", tmp_path / "shop", "--json")
    answer = json.loads(result.stdout)
    assert list(answer) == ["workspace_id", "write_key", "agent_key", "config"]
    assert re.fullmatch("[A-Za-z0-9]{12}", answer["workspace_id"])
    assert re.fullmatch("dk_[0-9a-f]{32}", answer["write_key"])
    assert re.fullmatch("dk_agent_[A-Za-z0-9_-]{43}", answer["agent_key"])
    assert answer["config"] == str(tmp_path / "shop" / "touchpoint.toml")
    assert result.stderr == ""


def test_text_output_shows_unwrapped_keys_and_the_next_command(touchpoint, tmp_path):
    output = touchpoint("init", tmp_path / "shop", "--name", "Shop [red]", COLUMNS="40").stdout
    assert re.search(r"dk_agent_[A-Za-z0-9_-]{43}", output)
    assert re.search(r"\bdk_[0-9a-f]{32}\b", output)
    assert "Shop [red]" in output
    assert f"touchpoint serve --config {tmp_path / 'shop' / 'touchpoint.toml'}" in output


def test_stores_are_created_by_init(touchpoint, tmp_path):
    touchpoint("init", tmp_path / "shop")
    names = {path.name for path in (tmp_path / "shop").iterdir()}
    assert {"touchpoint.toml", "workspace.db", "events.duckdb", "spool.db"} <= names


def test_folder_is_readable_by_its_owner_only(touchpoint, tmp_path):
    touchpoint("init", tmp_path / "shop")
    assert stat.S_IMODE((tmp_path / "shop").stat().st_mode) == 0o700


def test_written_settings_are_the_defaults_and_name_every_setting(deployment):
    text = Path(deployment["config"]).read_text()
    tomllib.loads(text)
    assert load_settings_with_environment(Path(deployment["config"])).model_dump() == Settings().model_dump()
    for section, lines in Settings():
        assert f"[{section}]" in text
        assert all(re.search(rf"^(# )?{name} (= |is not set)", text, re.MULTILINE) for name, _ in lines)


def test_every_commented_setting_is_valid_when_enabled(deployment, tmp_path):
    text = re.sub(r"(?m)^# (\w+ = )", r"\1", Path(deployment["config"]).read_text())
    opened = tmp_path / "opened.toml"
    opened.write_text(text)
    assert load_settings_with_environment(opened).model_dump() == Settings().model_dump()


def test_init_accepts_existing_settings(touchpoint, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[storage]\nworkspace = "sqlite:///people.db"\n')
    touchpoint("init", tmp_path / "shop", "--config", mine)
    assert (tmp_path / "shop" / "touchpoint.toml").read_text() == mine.read_text()
    assert (tmp_path / "shop" / "people.db").exists()


def test_workspace_uses_the_given_time_zone_and_currency(touchpoint, tmp_path):
    touchpoint("init", tmp_path / "shop", "--timezone", "Europe/Berlin", "--currency", "eur")
    with closing(sqlite3.connect(tmp_path / "shop" / "workspace.db")) as connection:
        row = connection.execute("SELECT name, timezone, currency FROM workspaces").fetchone()
    assert row == ("My workspace", "Europe/Berlin", "EUR")


def test_existing_deployment_is_never_overwritten(touchpoint, deployment, tmp_path):
    before = Path(deployment["config"]).read_text()
    result = touchpoint("init", tmp_path / "shop", "--json", code=2)
    assert result.stdout == ""
    assert "exists already" in result.stderr
    assert Path(deployment["config"]).read_text() == before


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--timezone", "Mars/Olympus", "time zone"),
        ("--currency", "EURO", "currency"),
        ("--name", " ", "blank"),
    ],
)
def test_refused_init_leaves_no_settings_file(touchpoint, tmp_path, option, value, word):
    result = touchpoint("init", tmp_path / "shop", option, value, code=1)
    assert word in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "shop" / "touchpoint.toml").exists()
    touchpoint("init", tmp_path / "shop")


def test_site_option_accepts_a_host_and_no_url(touchpoint, tmp_path):
    result = touchpoint("init", tmp_path / "shop", "--domain", "https://shop.example/", code=2)
    assert "write the host alone" in result.stderr
    assert not (tmp_path / "shop").exists()


def test_folder_that_cannot_be_created_prints_one_sentence(touchpoint, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = touchpoint("init", tmp_path / "file" / "shop", code=2)
    assert "cannot be written" in result.stderr


def test_settings_of_the_environment_are_written_with_secrets_as_references(touchpoint, tmp_path):
    store, token = f"sqlite:///{tmp_path}/elsewhere.db", "t" * 32
    named = {"TOUCHPOINT_STORAGE__WORKSPACE": store, "TOUCHPOINT_HTTP__INTERNAL_TOKEN": token}
    touchpoint("init", tmp_path / "shop", "--json", **named)
    file = tmp_path / "shop" / "touchpoint.toml"
    written = tomllib.loads(file.read_text())
    assert written["storage"]["workspace"] == store
    assert written["http"]["internal_token"] == "${TOUCHPOINT_HTTP__INTERNAL_TOKEN}"
    assert token not in file.read_text()
    refused = touchpoint("key", "list", "--config", file, code=2)
    assert (
        "refers to the environment variable TOUCHPOINT_HTTP__INTERNAL_TOKEN, which is not set"
        in refused.stderr
    )
    listed = touchpoint("key", "list", "--config", file, TOUCHPOINT_HTTP__INTERNAL_TOKEN=token)
    assert "agent" in listed.stdout


def test_url_with_a_password_is_written_as_a_reference():
    url = "postgresql://touchpoint:hidden@db/touchpoint"
    settings = Settings.model_validate({"storage": {"workspace": url}})
    text = render_settings_file(settings, {"storage.workspace": "TOUCHPOINT_STORAGE__WORKSPACE"})
    assert tomllib.loads(text)["storage"]["workspace"] == "${TOUCHPOINT_STORAGE__WORKSPACE}"
