"""Compares `/overview` and `/traffic` through the API with hand-written SQL for the same result.

    python -m tests.bench.endpoints 1000000 10000000 --folder /tmp/bench

Requests pass the API dispatcher without a socket. The events are those of `tests.bench.reads`: one workspace has
30 % of them.
"""

import argparse
import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from hosts.composition.compose import Service, compose
from plugins.events_sql.adapter import SqlEventStore
from service_core.api.http_messages import ApiRequest
from service_core.kernel.settings import IngestSettings, Settings, StorageSettings
from tests.bench.dashboard import create_api_key, folder_has_store, send_request
from tests.bench.generated_events import WORKSPACE, generate_events

END: Final = datetime(2026, 7, 1, tzinfo=UTC)
NOW: Final = END + timedelta(hours=1)
TARGET: Final = 1.3
ALLOWED_MS: Final = 10.0

_VIEWS: Final = "event_name IN ('$pageview', 'page_view', 'pageview')"
_COUNTED: Final = f"count(DISTINCT visitor_no), count(*) FILTER ({_VIEWS}), count(DISTINCT session_no)"


def endpoint_requests(days: int) -> dict[str, tuple[ApiRequest, list[str]]]:
    """Returns requests over the last days, with the SQL statements of the same results."""
    first = END - timedelta(days=days)
    where = f"""workspace_id = '{WORKSPACE}' AND NOT is_bot
        AND timestamp >= TIMESTAMP '{first:%Y-%m-%d}' AND timestamp < TIMESTAMP '{END:%Y-%m-%d}'"""
    bucket = "day" if days <= 61 else "month"
    dates = f"start_date={first:%Y-%m-%d}&end_date={END - timedelta(days=1):%Y-%m-%d}"
    overview = [
        f"SELECT {_COUNTED} FROM events WHERE {where}",
        f"SELECT event_name, count(*) FROM events WHERE {where} AND NOT {_VIEWS} GROUP BY 1",
        f"""SELECT date_trunc('{bucket}', timestamp) AS b, {_COUNTED}, count(*) FILTER (NOT {_VIEWS})
            FROM events WHERE {where} GROUP BY 1 ORDER BY 1""",
    ]
    referrers = f"""
        SELECT s.entry_referrer_host AS d, count(DISTINCT e.visitor_no) AS n
        FROM (SELECT session_no, visitor_no FROM events WHERE {where}) e LEFT JOIN (
          SELECT session_no, entry_referrer_host FROM sessions WHERE workspace_id = '{WORKSPACE}' AND NOT is_bot) s
          USING (session_no) GROUP BY 1 ORDER BY n DESC, d"""
    pages = f"SELECT page_path, count(DISTINCT visitor_no) AS n FROM events WHERE {where} AND {_VIEWS} GROUP BY 1 ORDER BY n DESC"
    return {
        "/overview": (ApiRequest("GET", "/v1/overview", dates), overview),
        "/traffic": (ApiRequest("GET", "/v1/traffic", dates), [referrers]),
        "/traffic?type=page": (ApiRequest("GET", "/v1/traffic", f"{dates}&type=page"), [pages]),
    }


async def compare_with_sql(service: Service, key: str, rows: int, rounds: int, console: Console) -> None:
    """Runs requests and SQL in alternating rounds, and print the medians."""
    hand = service.ports.events._engine._backend.open_session()  # type: ignore[attr-defined]
    table = Table("request", "days", "API ms", "SQL ms", "ratio", title=f"{rows:,} events")
    for days in (30, 365):
        for name, (request, texts) in endpoint_requests(days).items():
            mine, theirs = [], []
            for _ in range(rounds):
                mine.append(await send_request(service, request, key))
                started = time.perf_counter()
                for text in texts:
                    hand.fetch_rows(text, [])
                theirs.append(time.perf_counter() - started)
            a, b = median(mine) * 1000, median(theirs) * 1000
            style = "" if a <= TARGET * b + ALLOWED_MS else "bold red"
            table.add_row(name, str(days), f"{a:.1f}", f"{b:.1f}", f"{a / b:.2f}", style=style)
    hand.close()
    console.print(table, f"target {TARGET} plus {ALLOWED_MS:.0f} ms\n")


async def main(rows: int, folder: Path, rounds: int) -> None:
    """Generate missing events and print the comparison."""
    name = f"events_{rows}.db"
    fresh = folder_has_store(folder, name)
    settings = Settings(
        storage=StorageSettings(
            events=f"duckdb:///{name}?threads=2&memory_limit=8GB&timeout_seconds=600",
            workspace="sqlite:///panels_workspace.db",
        ),
        ingest=IngestSettings(queue="spool:///panels_spool.db"),
    )
    async with compose(settings, folder, clock=lambda: NOW) as service:
        store = service.ports.events
        assert isinstance(store, SqlEventStore)
        if fresh:
            await generate_events(store, rows, END)
        await compare_with_sql(service, await create_api_key(service), rows, rounds, Console())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    for size in given.rows:
        asyncio.run(main(size, given.folder, given.rounds))
