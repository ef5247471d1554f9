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


def listed(touchpoint, config):
    return touchpoint("key", "list", "--config", config).stdout


def entries(output):
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
    assert answer["id"] in listed(touchpoint, deployment["config"])


def test_a_key_reads_unless_more_is_said_and_is_shown_once(touchpoint, deployment):
    output = touchpoint("key", "create", "--name", "Reader", "--config", deployment["config"]).stdout
    key = re.search("dk_agent_[A-Za-z0-9_-]{43}", output)[0]
    assert "may service:read" in output
    table = listed(touchpoint, deployment["config"])
    assert key not in table
    assert "…" + key[-4:] in table


def test_a_revoked_key_is_marked_and_revoking_again_changes_nothing(touchpoint, deployment):
    config = deployment["config"]
    made = json.loads(touchpoint("key", "create", "--name", "Reader", "--json", "--config", config).stdout)
    assert "is revoked" in touchpoint("key", "revoke", made["id"], "--config", config).stdout
    touchpoint("key", "revoke", made["id"], "--config", config)
    assert {one: "revoked 2" in text for one, text in entries(listed(touchpoint, config)).items()}[made["id"]]


def test_a_new_workspace_has_its_two_keys(touchpoint, deployment):
    table = listed(touchpoint, deployment["config"])
    assert "Write key" in table
    assert "Agent key" in table
    assert deployment["write_key"] not in table


def test_an_unknown_scope_names_the_known_ones(touchpoint, deployment):
    result = touchpoint("key", "create", "--scope", "service:all", "--config", deployment["config"], code=1)
    assert "Unknown scope service:all. Scopes: service:read," in result.stderr


def test_an_id_that_is_no_key_of_the_workspace_is_a_sentence(touchpoint, deployment):
    result = touchpoint("key", "revoke", uuid4(), "--config", deployment["config"], code=2)
    assert "touchpoint key list" in result.stderr
    touchpoint("key", "revoke", "not-an-id", "--config", deployment["config"], code=2)


@pytest.mark.parametrize(
    ("which", "form"), [("agent", "dk_agent_[A-Za-z0-9_-]{43}"), ("write", "dk_[0-9a-f]{32}")]
)
def test_regenerating_shows_a_new_value_and_ends_the_old_one(touchpoint, deployment, which, form):
    output = touchpoint("key", "regenerate", which, "--config", deployment["config"]).stdout
    fresh = re.search(form, output)[0]
    assert fresh != deployment[f"{which}_key"]
    rows = [
        row for row in entries(listed(touchpoint, deployment["config"])).values() if f" {which} · " in row
    ]
    assert [row.split()[1] for row in rows] == ["…" + deployment[f"{which}_key"][-4:], "…" + fresh[-4:]]
    assert ["revoked" in row for row in rows] == [True, False]


@pytest.fixture
def second_workspace(deployment):
    async def found():
        async with open_workspace_store(Path(deployment["config"])) as directory:
            return await create_workspace_with_keys(directory.credentials, system_clock(), name="Second")

    return asyncio.run(found()).workspace


def test_with_several_workspaces_one_has_to_be_named(touchpoint, deployment, second_workspace):
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


def test_the_settings_file_is_found_by_the_environment_and_in_the_present_folder(
    touchpoint, deployment, tmp_path, monkeypatch
):
    touchpoint("key", "list", TOUCHPOINT_CONFIG=deployment["config"])
    monkeypatch.chdir(tmp_path / "shop")
    touchpoint("key", "list")
