"""``touchpoint key``: create, list, revoke."""

import asyncio
import json
import re
from pathlib import Path
from uuid import uuid4

import pytest

from hosts.cli.deployment import open_workspace_store
from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.clock import system_clock


def list_keys_output(touchpoint, config):
    return touchpoint("key", "list", "--config", config).stdout


def audit_entries(output):
    """Id -> the two lines of a key."""
    lines = output.splitlines()
    return {one.split()[0]: f"{one} {two}" for one, two in zip(lines[::2], lines[1::2], strict=True)}


def test_json_prints_key_id_and_scopes_and_nothing_else(touchpoint, deployment):
    result = touchpoint(
        "key", "create", "--name", "Campaign bot", "--scope", "service:write:links", "--scope", "service:read",
        "--json", "--config", deployment["config"],
    )  # fmt: skip
    answer = json.loads(result.stdout)
    assert list(answer) == ["key", "id", "scopes"]
    assert re.fullmatch("dk_agent_[A-Za-z0-9_-]{43}", answer["key"])
    assert answer["scopes"] == ["service:read", "service:write:links"]
    assert answer["id"] in list_keys_output(touchpoint, deployment["config"])


def test_key_has_the_read_scope_by_default_and_is_printed_once(touchpoint, deployment):
    output = touchpoint("key", "create", "--name", "Reader", "--config", deployment["config"]).stdout
    key = re.search("dk_agent_[A-Za-z0-9_-]{43}", output)[0]
    assert "may service:read" in output
    table = list_keys_output(touchpoint, deployment["config"])
    assert key not in table
    assert "…" + key[-4:] in table


def test_revoked_key_is_marked_and_revoking_again_changes_nothing(touchpoint, deployment):
    config = deployment["config"]
    made = json.loads(touchpoint("key", "create", "--name", "Reader", "--json", "--config", config).stdout)
    assert "is revoked" in touchpoint("key", "revoke", made["id"], "--config", config).stdout
    touchpoint("key", "revoke", made["id"], "--config", config)
    assert {
        one: "revoked 2" in text for one, text in audit_entries(list_keys_output(touchpoint, config)).items()
    }[made["id"]]


def test_new_workspace_has_two_keys(touchpoint, deployment):
    table = list_keys_output(touchpoint, deployment["config"])
    assert "Write key" in table
    assert "Agent key" in table
    assert deployment["write_key"] not in table


def test_unknown_scope_error_lists_the_known_scopes(touchpoint, deployment):
    result = touchpoint("key", "create", "--scope", "service:all", "--config", deployment["config"], code=1)
    assert "Unknown scope service:all. Scopes: service:read," in result.stderr


def test_unknown_key_id_prints_one_sentence(touchpoint, deployment):
    result = touchpoint("key", "revoke", uuid4(), "--config", deployment["config"], code=2)
    assert "touchpoint key list" in result.stderr
    touchpoint("key", "revoke", "not-an-id", "--config", deployment["config"], code=2)


@pytest.mark.parametrize(
    ("which", "form"), [("agent", "dk_agent_[A-Za-z0-9_-]{43}"), ("write", "dk_[0-9a-f]{32}")]
)
def test_regenerating_prints_a_new_secret_and_revokes_the_old_one(touchpoint, deployment, which, form):
    output = touchpoint("key", "regenerate", which, "--config", deployment["config"]).stdout
    fresh = re.search(form, output)[0]
    assert fresh != deployment[f"{which}_key"]
    rows = [
        row
        for row in audit_entries(list_keys_output(touchpoint, deployment["config"])).values()
        if f" {which} · " in row
    ]
    assert [row.split()[1] for row in rows] == ["…" + deployment[f"{which}_key"][-4:], "…" + fresh[-4:]]
    assert ["revoked" in row for row in rows] == [True, False]


@pytest.fixture
def second_workspace(deployment):
    async def found():
        async with open_workspace_store(Path(deployment["config"])) as directory:
            return await create_workspace_with_keys(directory.credentials, system_clock(), name="Second")

    return asyncio.run(found()).workspace


def test_workspace_option_is_required_with_several_workspaces(touchpoint, deployment, second_workspace):
    config = deployment["config"]
    result = touchpoint("key", "list", "--config", config, code=2)
    assert deployment["workspace_id"] in result.stderr
    assert second_workspace.public_id in result.stderr
    made = json.loads(
        touchpoint(
            "key", "create", "--workspace", second_workspace.public_id, "--json", "--config", config
        ).stdout
    )
    chosen = touchpoint("key", "list", "--workspace", second_workspace.public_id, "--config", config).stdout
    other = touchpoint("key", "list", "--workspace", deployment["workspace_id"], "--config", config).stdout
    assert made["id"] in chosen
    assert made["id"] not in other
    touchpoint("key", "list", "--workspace", "nobody", "--config", config, code=2)


def test_settings_file_is_found_by_environment_variable_or_current_folder(
    touchpoint, deployment, tmp_path, monkeypatch
):
    expected = touchpoint("key", "list", "--config", deployment["config"]).stdout
    assert "Agent key" in expected
    assert touchpoint("key", "list", TOUCHPOINT_CONFIG=deployment["config"]).stdout == expected
    monkeypatch.chdir(tmp_path / "shop")
    assert touchpoint("key", "list").stdout == expected
