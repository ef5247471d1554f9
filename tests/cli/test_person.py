"""``touchpoint person``: erase, certificates, tombstones for older backups, and access requests."""

import asyncio
import json
from pathlib import Path

from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from service_core.testing.event_builder import EventBuilder


def append_events(config):
    async def append():
        ports = load_ports(config)
        async with start_adapters([ports.workspace, ports.events]):
            (workspace,) = await ports.workspace.credentials.list_workspaces()
            builder = EventBuilder(workspace.id)
            for visitor in ("device-ada", "device-bob"):
                builder.add_event(
                    "page_view", at="2026-03-02", visitor=visitor, strong_id=visitor.replace("device", "user")
                )
            await ports.events.append(builder.events)

    asyncio.run(append())


def stored_events(touchpoint, person, config):
    return len(json.loads(touchpoint("person", "export", person, *config).stdout)["events"])


def test_person_erased_after_a_backup_is_erased_again_in_the_restored_deployment(
    touchpoint, deployment, tmp_path
):
    config = "--config", deployment["config"]
    append_events(Path(deployment["config"]))
    touchpoint("backup", tmp_path / "backup.tar", *config)
    certificate = json.loads(touchpoint("person", "erase", "user-ada", "--yes", "--now", *config).stdout)
    assert certificate["removed"]["event_store"]["events"] == 1
    assert [stored_events(touchpoint, person, config) for person in ("user-ada", "user-bob")] == [0, 1]
    tombstones = touchpoint("person", "tombstones", *config).stdout
    assert "user-ada" not in tombstones
    assert "device-ada" not in tombstones
    (tmp_path / "tombstones").write_text(tombstones)
    restored = tmp_path / "restored"
    result = touchpoint(
        "restore", tmp_path / "backup.tar", restored, "--tombstones", tmp_path / "tombstones"
    ).stdout
    assert "1 persons" in result
    new = "--config", restored / "touchpoint.toml"
    assert stored_events(touchpoint, "user-ada", new) == 1
    touchpoint("person", "erase", "nobody-else", "--yes", "--now", *new)
    assert [stored_events(touchpoint, person, new) for person in ("user-ada", "user-bob")] == [0, 1]
    listed = json.loads(touchpoint("person", "erasures", "--json", *new).stdout)["erasures"]
    assert {row["status"] for row in listed} == {"completed"}


def test_restore_finds_the_tombstones_that_an_erasure_wrote_beside_the_backup(
    touchpoint, deployment, tmp_path
):
    config = "--config", deployment["config"]
    append_events(Path(deployment["config"]))
    folder, restored = tmp_path / "backups", tmp_path / "restored"
    touchpoint("backup", folder / "monday.tar", *config)
    touchpoint("person", "erase", "user-ada", "--yes", "--now", *config)
    tombstones = folder / "touchpoint-tombstones.jsonl"
    assert tombstones.stat().st_mode & 0o777 == 0o600
    assert not [id_ for id_ in ("user-ada", "device-ada") if id_ in tombstones.read_text()]
    assert "1 persons" in touchpoint("restore", folder / "monday.tar", restored).stdout
    new = "--config", restored / "touchpoint.toml"
    touchpoint("person", "erase", "nobody-else", "--yes", "--now", *new)
    assert [stored_events(touchpoint, person, new) for person in ("user-ada", "user-bob")] == [0, 1]


def test_erasure_is_completed_when_no_tombstone_can_be_written(touchpoint, deployment, tmp_path):
    config = "--config", deployment["config"]
    append_events(Path(deployment["config"]))
    touchpoint("backup", tmp_path / "gone" / "monday.tar", *config)
    (tmp_path / "gone").rename(tmp_path / "moved")
    certificate = json.loads(touchpoint("person", "erase", "user-ada", "--yes", "--now", *config).stdout)
    assert certificate["removed"]["event_store"]["events"] == 1


def test_erasure_is_requested_for_the_running_service_and_asks_first(touchpoint, deployment):
    config = "--config", deployment["config"]
    touchpoint("person", "erase", "user-ada", *config, typed="n\n", code=1)
    assert json.loads(touchpoint("person", "erasures", "--json", *config).stdout) == {"erasures": []}
    assert "is requested" in touchpoint("person", "erase", "user-ada", "--yes", *config).stdout
    assert "requested" in touchpoint("person", "erasures", *config).stdout


def test_file_without_tombstones_is_refused(touchpoint, deployment, tmp_path):
    config = "--config", deployment["config"]
    touchpoint("backup", tmp_path / "backup.tar", *config)
    (tmp_path / "other").write_text("[1]")
    refused = touchpoint(
        "restore", tmp_path / "backup.tar", tmp_path / "new", "--tombstones", tmp_path / "other", code=2
    )
    assert "holds no tombstones" in refused.stderr
