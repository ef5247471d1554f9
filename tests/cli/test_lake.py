"""``touchpoint lake``: written by the command, and described for dbt."""

import json

import yaml

from service_core.delivery.lake.write_lake import LakeBusy, LakeWriter


async def refuse(*_, **__):
    raise LakeBusy


def test_lake_is_written_shown_and_described(touchpoint, deployment, monkeypatch):
    config = "--config", deployment["config"]
    refused = touchpoint("lake", "status", *config, code=2)
    assert "lake.storage is empty" in refused.stderr
    monkeypatch.setenv("TOUCHPOINT_LAKE__STORAGE", "local:///lake")
    assert "No lake is written yet." in touchpoint("lake", "status", *config).stdout
    (written,) = json.loads(touchpoint("lake", "write", "--all", "--json", *config).stdout)["lakes"]
    assert (written["workspace"], written["rows"]) == (deployment["workspace_id"], 0)
    assert json.loads(touchpoint("lake", "status", "--json", *config).stdout)["lakes"] == [written]
    assert "0 events of 0 days" in touchpoint("lake", "status", *config).stdout
    with monkeypatch.context() as patched:
        patched.setattr(LakeWriter, "write_lake", refuse)
        busy = touchpoint("lake", "write", *config, code=2)
        assert "is writing this lake" in busy.stderr
    unknown = touchpoint("lake", "write", "--workspace", "nobody", *config, code=2)
    assert "there is no workspace nobody" in unknown.stderr
    described = yaml.safe_load(touchpoint("lake", "dbt-sources", "s3://bucket/lake", *config).stdout)
    table, *_ = described["sources"][0]["tables"]
    assert f"s3://bucket/lake/{deployment['workspace_id']}/manifest.json" in table["meta"]["on_run_start"]
