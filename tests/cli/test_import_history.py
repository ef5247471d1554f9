"""``touchpoint import SOURCE FILE``, ``list`` and ``remove``: every row accounted for, imported once, and taken out again."""

import json

import pytest

from tests.plugins.test_import_sources import POSTHOG

REMOVAL = "service_core.delivery.imports.removal.ImportRemoval"
RANGE = "--start", "2026-06-01", "--end", "2026-08-01"


class History:
    """The commands on one deployment."""

    def __init__(self, touchpoint, config, folder):
        self._touchpoint, self.config = touchpoint, ("--config", config)
        self.file = folder / "events.jsonl"
        self.file.write_bytes(POSTHOG)

    def run(self, *arguments, code=0):
        return self._touchpoint("import", *arguments, *self.config, code=code)

    def import_as_json(self, *options):
        return json.loads(self.run("posthog", self.file, "--json", *options).stdout)

    def listed(self):
        return json.loads(self.run("list", "--json").stdout)["imports"]

    def remove(self, import_id, *options):
        return self.run("remove", import_id, "--yes", *options).stdout


@pytest.fixture
def history(touchpoint, deployment, tmp_path):
    return History(touchpoint, deployment["config"], tmp_path)


def test_import_ends_with_a_sheet_in_which_rows_are_accepted_plus_differences(history):
    made = history.import_as_json()
    assert (made["rows"], made["accepted"], made["differences"]) == (3, 2, {"no_identity": 1})
    assert made["days"] == [
        {"day": "2026-07-01", "rows": 1, "accepted": 1, "differences": {}},
        {"day": "2026-07-02", "rows": 2, "accepted": 1, "differences": {"no_identity": 1}},
    ]
    (listed,) = history.listed()
    assert (listed["id"], listed["status"], listed["source"]) == (made["id"], "completed", "posthog")
    assert listed["days"] == made["days"]


def test_dry_run_shows_the_sheet_and_imports_nothing(history):
    planned = history.import_as_json("--dry-run")
    assert (planned["dry_run"], planned["accepted"]) == (True, 2)
    assert history.listed() == []
    words = history.run("posthog", history.file, "--dry-run").stdout
    assert "signed up" in words
    assert "All days" in words
    assert "no identity: 1" in words


def test_file_is_imported_once_and_again_after_its_removal(history):
    first, second = history.import_as_json(), history.import_as_json()
    assert second == first
    assert "2 events" in history.remove(first["id"], "--dry-run")
    assert "2 events are removed" in history.remove(first["id"], "--now")
    assert [job["status"] for job in history.listed()] == ["removed"]
    assert "2 events are removed" in history.remove(first["id"], "--now")
    again = history.import_as_json()
    assert again["accepted"] == 2
    assert again["id"] != first["id"]
    assert "2 events are removed" in history.remove(again["id"], "--now")


def test_unknown_source_is_refused_with_the_installed_ones(history):
    refused = history.run("nothing", history.file, code=2)
    assert "No import source is named nothing. Installed are ga4, " in refused.stderr
    assert "no id of an import" in history.run("remove", "x", "--yes", code=2).stderr


def test_killed_import_goes_on_after_its_last_batch_with_the_same_sheet(history, monkeypatch):
    monkeypatch.setattr("hosts.data_import.enqueue.MAX_CONCURRENT", 1)
    save = "hosts.worker.import_record.ImportRecord.save_batch"

    async def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(save, die)
        history.run("posthog", history.file, code=130)
    made = history.import_as_json()
    assert (made["rows"], made["accepted"] + made["differences"].get("duplicate", 0)) == (3, 2)
    assert [job["status"] for job in history.listed()] == ["completed"]


def test_file_that_was_read_as_events_is_read_again_by_an_import_source(history):
    history.run("events", history.file)
    made = history.import_as_json()
    assert (made["rows"], made["differences"]) == (3, {"no_identity": 1})
    assert "0 events are removed" in history.remove(made["id"], "--now")  # its rows were stored before


def test_removal_in_the_command_says_that_events_are_not_stored_yet(history, monkeypatch):
    made = history.import_as_json()

    async def has_waiting_events(*_):
        return True

    with monkeypatch.context() as waiting:
        waiting.setattr(f"{REMOVAL}._may_have_events_in_queue", has_waiting_events)
        assert "not stored yet" in history.remove(made["id"], "--now")
    assert "2 events are removed" in history.remove(made["id"], "--now")
