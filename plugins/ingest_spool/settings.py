"""Settings of the URL of a spool."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from service_core.plugin import AdapterSettings


class SpoolSettings(AdapterSettings):
    """``spool:///ingest.db?max_queued=10000``.

    Attributes:
        path: the SQLite file; created when absent, its ``-wal`` and ``-shm`` files lie beside it.
        max_queued: offers that may wait for a commit; beyond it an offer fails at once (back-pressure).
        busy_seconds: how long a commit waits for another process that writes to the same file.
    """

    path: Path
    max_queued: Annotated[int, Field(ge=1)] = 10_000
    busy_seconds: Annotated[float, Field(gt=0, le=30)] = 2.0
