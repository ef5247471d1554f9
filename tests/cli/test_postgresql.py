"""The command line over a workspace store on a server, named in the environment."""

import json


def test_deployment_on_postgresql_is_created_and_checked_without_files(
    touchpoint, tmp_path, workspace_postgres
):
    named = {"TOUCHPOINT_STORAGE__WORKSPACE": workspace_postgres.replace("touchpoint@", "touchpoint:sesame@")}
    made = json.loads(touchpoint("init", tmp_path / "shop", "--name", "Shop", "--json", **named).stdout)
    checked = touchpoint("config", "check", "--config", made["config"], **named).stdout
    assert "is valid" in checked
    assert "sesame" not in checked
    keys = touchpoint("key", "list", "--config", made["config"], **named).stdout
    assert "Agent key" in keys
    assert not (tmp_path / "shop" / "workspace.db").exists()
