"""An import that cannot go on says why, and keeps what came before."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from hosts.cli import app
from hosts.worker.import_record import ImportedFile
from hosts.worker.run_import import ImportTask, resume_import_and_wait_until_stored
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.kernel.errors import StartupError


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
