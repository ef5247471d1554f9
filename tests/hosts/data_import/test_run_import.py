"""An import that cannot go on says why, and keeps what came before."""

import asyncio
import json
import threading

import pytest
from typer.testing import CliRunner

from hosts.cli import app
from hosts.data_import.enqueue import MAX_CONCURRENT
from hosts.worker.import_record import ImportedFile
from hosts.worker.run_import import ImportTask, resume_import_and_wait_until_stored
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.pipeline import IngestPipeline
from service_core.kernel.errors import StartupError
from tests.fixtures.waiting import GUARD_SECONDS


@pytest.fixture
def config(tmp_path):
    made = CliRunner().invoke(app, ["init", str(tmp_path / "shop"), "--json"])
    return tmp_path / "shop" / json.loads(made.stdout)["config"]


def test_full_queue_is_reported_with_one_sentence(config, monkeypatch):
    monkeypatch.setenv("TOUCHPOINT_INGEST__QUEUE", "spool:///spool.db?max_queued=1")
    entries = [ImportEntry({"event": "a", "user_id": str(n)}, event_id=f"import:{n}") for n in range(3)]
    task = ImportTask(config, ImportedFile("digest"), lambda: entries)
    with pytest.raises(
        StartupError, match=r"takes no more events: too many wait already\. .* run the command again"
    ):
        asyncio.run(resume_import_and_wait_until_stored(task, lambda _: None, lambda _: None))


def test_events_are_stored_while_the_file_is_still_read(config, monkeypatch):
    """The reader waits for the first stored batch; without overlap it would wait in vain."""
    has_stored = threading.Event()
    process_batch = IngestPipeline.process_batch

    async def process_and_tell(pipeline):
        if count := await process_batch(pipeline):
            has_stored.set()
        return count

    def read_entries():
        for number in range(MAX_CONCURRENT + 1):
            if number == MAX_CONCURRENT:
                assert has_stored.wait(GUARD_SECONDS), "nothing was stored while the file was read"
            yield ImportEntry({"event": "a", "user_id": "u"}, event_id=f"import:{number}")

    monkeypatch.setattr(IngestPipeline, "process_batch", process_and_tell)
    task = ImportTask(config, ImportedFile("digest"), read_entries)
    result = asyncio.run(resume_import_and_wait_until_stored(task, lambda _: None, lambda _: None))
    assert result.counts == {"queued": MAX_CONCURRENT + 1}


def test_import_of_a_file_that_cannot_be_read_to_its_end_fails_with_the_reason(config):
    def read_entries():
        yield ImportEntry({"event": "a", "user_id": "u"}, event_id="import:1")
        raise StartupError("The file is damaged.")

    task = ImportTask(config, ImportedFile("digest"), read_entries)
    with pytest.raises(StartupError, match=r"The file is damaged\."):
        asyncio.run(resume_import_and_wait_until_stored(task, lambda _: None, lambda _: None))
    listed = CliRunner().invoke(app, ["import", "list", "--json", "--config", str(config)])
    assert [job["status"] for job in json.loads(listed.stdout)["imports"]] == ["failed"]
