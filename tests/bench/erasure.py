"""Measures the erasure of one person in a workspace of five million events.

    python -m tests.bench.erasure --folder /tmp/bench

All events belong to one workspace, because deletion works on one workspace. The target is one minute.
"""

import argparse
import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from rich.console import Console

from hosts.composition.compose import compose
from hosts.roles.tasks import build_person_erasure
from plugins.events_sql.adapter import SqlEventStore
from service_core.access.models import Workspace
from service_core.kernel.settings import IngestSettings, Settings, StorageSettings
from service_core.privacy.models import request_erasure
from tests.bench.generated_events import WORKSPACE, YEAR_SECONDS, generate_events

END: Final = datetime(2026, 7, 1, tzinfo=UTC)
EVENTS: Final = 5_000_000
TARGET_SECONDS: Final = 60

ONE_WORKSPACE: Final = f"""
SELECT s, true AS is_large, (hash(s, 1) % 1000)::BIGINT AS luck, hash(s, 4) % ({YEAR_SECONDS} - 600) AS second,
  1 AS w, (hash(s, 3) % greatest({{visitors}}, 1))::BIGINT AS v
FROM range({{sessions}}) r(s)
"""
PERSON_WITH_MOST_EVENTS: Final = """
SELECT visitor_id, count(*) FROM events WHERE NOT is_bot GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1
"""


async def add_workspace(store: object, created_at: datetime) -> None:
    """Stores the workspace that the generated events belong to."""
    workspace = Workspace(
        id=UUID(WORKSPACE), public_id="erasure00000", name="Erasure", domain=None, timezone="UTC", currency="USD",
        plan="unlimited", active=True, created_at=created_at, secret=b"erasure",
    )  # fmt: skip
    await store.create_workspace(workspace)  # type: ignore[attr-defined]


def folder_has_no_store(folder: Path, name: str) -> bool:
    """Creates the folder, removes the workspace of an earlier run, and returns whether events must be generated."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("erasure_workspace.db*"):
        left.unlink()
    return not (folder / name).exists()


async def main(events: int, folder: Path) -> None:
    """Generate missing events, erase a person, and print how long it took."""
    name, console = f"erasure_{events}.db", Console()
    fresh = folder_has_no_store(folder, name)
    settings = Settings(
        storage=StorageSettings(
            events=f"duckdb:///{name}?threads=2&memory_limit=4GB&timeout_seconds=600",
            workspace="sqlite:///erasure_workspace.db",
        ),
        ingest=IngestSettings(queue="spool:///erasure_spool.db"),
    )
    async with compose(settings, folder, clock=lambda: END) as service:
        ports, store = service.ports, service.ports.events
        assert isinstance(store, SqlEventStore)
        if fresh:
            await generate_events(store, events, END, ONE_WORKSPACE)
        await add_workspace(ports.workspace.credentials, END)
        ((person, count),) = await store._engine.run_write_to_its_end(
            lambda writer: writer.execute_text(PERSON_WITH_MOST_EVENTS)
        )
        await ports.workspace.erasures.save_erasure(
            request_erasure(UUID(WORKSPACE), person, "measurement", END)
        )
        started = time.perf_counter()
        (done,) = await build_person_erasure(ports).complete_requested_removals()
        seconds = time.perf_counter() - started
    assert done.certificate is not None
    style = "" if seconds <= TARGET_SECONDS else "bold red"
    console.print(
        f"{done.certificate['removed']['event_store']['events']} events (visitor: {count}) of {events:,} erased in "
        f"{seconds:.1f} s (target {TARGET_SECONDS} s)",
        style=style,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", type=int, nargs="?", default=EVENTS)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    given = parser.parse_args()
    asyncio.run(main(given.events, given.folder))
