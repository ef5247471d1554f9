"""Measures requests over one large workspace through the API, and compares two checkouts with equal answers.

    python -m tests.bench.request_costs 10000000 --folder /tmp/bench
    python -m tests.bench.request_costs 10000000 --folder /tmp/bench --against ../before

All generated events belong to one workspace; 31,500 of them happened in the last half hour. Requests pass the API dispatcher without a
socket; the least processor time and wall time of the rounds count. With ``--against``, another checkout answers the same
requests in turn, in processes of its own, and both must give equal answers.
"""

import argparse
import asyncio
import hashlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from hosts.composition.compose import Service, compose
from service_core.api.http_messages import ApiRequest
from service_core.kernel.settings import IngestSettings, Settings, StorageSettings
from tests.bench.dashboard import create_api_key, folder_has_store
from tests.bench.figures import markdown_table
from tests.bench.generated_events import YEAR_SECONDS, generate_events

END: Final = datetime(2026, 7, 1, tzinfo=UTC)
RECENT_SESSIONS: Final = 6_300
"""Sessions of five events that took place in the last half hour."""

ONE_WORKSPACE: Final = f"""
SELECT s, true AS is_large, (hash(s, 1) % 1000)::BIGINT AS luck, 1::BIGINT AS w, (hash(s, 3) % greatest({{visitors}}, 1))::BIGINT AS v,
  CASE WHEN s >= {{sessions}} - {RECENT_SESSIONS} THEN {YEAR_SECONDS} - 1800 + hash(s, 4) % 1640
    ELSE s * ({YEAR_SECONDS} - 1800) // {{sessions}} END AS second
FROM range({{sessions}}) r(s)
"""
"""Sessions in order of time, as they arrive."""

HEAD: Final = ("request", "CPU", "wall")
COMPARED_HEAD: Final = ("request", "CPU before", "CPU", "wall before", "wall")
_VARYING: Final = {"id", "records_url", "generated_at", "as_of"}


class Figures(NamedTuple):
    """What one process measured."""

    figures: dict[str, tuple[float, float]]
    """Request -> least seconds of processors and of the wall."""

    digests: dict[str, str]
    peak_megabytes: float


def request_by_name() -> dict[str, ApiRequest]:
    """Returns the measured requests."""
    steps = "steps=page_view,add_to_cart,purchase"
    year, half, month, week = (_dates(days) for days in (365, 350, 30, 7))
    recent = {"from": f"{END - timedelta(days=14):%Y-%m-%d}", "to": f"{END - timedelta(days=8):%Y-%m-%d}"}
    revenue = {"metrics": ["revenue"], "date_range": recent, "interval": "day"}
    bucket = f"{END - timedelta(days=9):%Y-%m-%dT%H:%M:%S.000Z}"
    return {
        "/realtime": _get("realtime"),
        **{
            f"/attribution {model}, 30 days": _get("attribution", month, f"model={model}")
            for model in ("last_non_direct", "linear", "markov")
        },
        "/attribution last_non_direct, 365 days": _get("attribution", year, "model=last_non_direct"),
        "/overview, 30 days": _get("overview", month),
        "/overview, 350 days": _get("overview", half),
        "/traffic, 350 days": _get("traffic", half),
        "/users, 30 days": _get("users", month),
        "/funnel of 3 steps, 30 days": _get("funnel", month, steps),
        "/funnel of 3 steps, 350 days": _get("funnel", half, steps),
        "/funnel by channel, 30 days": _get("funnel", month, steps, "breakdown=channel"),
        "/retention by week, 350 days": _get("retention", half, "cohort_interval=week"),
        "/retention by channel, 30 days": _get(
            "retention", month, "cohort_interval=week", "breakdown=channel"
        ),
        "/ltv by channel, 30 days": _get("ltv", month, "breakdown=channel"),
        "/explain-change of visitors, 7 days": _post("explain-change", metric="visitors", date_range=recent),
        "/explain-change of revenue, 7 days": _post("explain-change", metric="revenue", date_range=recent),
        "/receipts of one day of 7": _post(
            "receipts", plan=revenue, metric="revenue", key={"bucket": bucket}
        ),
        "/search": _get("search", "q=camp"),
        "/events of 7 days": _get("events", week),
    }


def _dates(days: int) -> str:
    return f"start_date={END - timedelta(days=days):%Y-%m-%d}&end_date={END - timedelta(days=1):%Y-%m-%d}"


def _get(path: str, *parameters: str) -> ApiRequest:
    return ApiRequest("GET", f"/v1/{path}", "&".join(parameters))


def _post(path: str, **body: Any) -> ApiRequest:
    return ApiRequest("POST", f"/v1/{path}", body=json.dumps(body).encode())


async def measure(rows: int, folder: Path, rounds: int, only: str) -> Figures:
    """Generates missing events, and measures the requests whose names contain a text."""
    name = f"one_{rows}.db"
    fresh = folder_has_store(folder, name)
    settings = Settings(
        storage=StorageSettings(
            events=f"duckdb:///{name}?threads=2&timeout_seconds=600",
            workspace="sqlite:///panels_workspace.db",
        ),
        ingest=IngestSettings(queue="spool:///panels_spool.db"),
    )
    figures, digests = {}, {}
    async with compose(settings, folder, clock=lambda: END) as service:
        if fresh:
            await generate_events(service.ports.events, rows, END, ONE_WORKSPACE)  # type: ignore[arg-type]
        key = await create_api_key(service)
        await _require_all_events(service, key, rows)
        for request_name, request in request_by_name().items():
            if only not in request_name:
                continue
            spent = [await _send(service, request, key) for _ in range(rounds + 1)][1:]
            figures[request_name] = (min(cpu for cpu, _, _ in spent), min(wall for _, wall, _ in spent))
            digests[request_name] = digest_of_answer(spent[-1][2])
            sys.stderr.write(f"{request_name}: {_ms(figures[request_name][0])}\n")
    return Figures(figures, digests, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


async def _require_all_events(service: Service, key: str, rows: int) -> None:
    """Fails unless the workspace has all events.

    Raises:
        RuntimeError: it has not.
    """
    plan = {
        "metrics": ["events"],
        "date_range": {"from": f"{END - timedelta(days=365):%Y-%m-%d}", "to": f"{END:%Y-%m-%d}"},
    }
    _, _, body = await _send(service, _post("query", **plan, include_bots=True), key)
    stored = body["totals"]["events"]
    if stored != rows // 5 * 5:
        raise RuntimeError(f"The workspace has {stored:,} of {rows:,} events.")


async def _send(service: Service, request: ApiRequest, key: str) -> tuple[float, float, Any]:
    """Returns the seconds of processors and of the wall that a request took, and its answer."""
    headers = {"authorization": f"Bearer {key}"}
    started, worked = time.perf_counter(), time.process_time()
    response = await service.dispatch(
        ApiRequest(request.method, request.path, request.query, headers, request.body)
    )
    spent = time.process_time() - worked, time.perf_counter() - started
    assert response.status in {200, 201}, response.body
    return *spent, json.loads(response.body)


def digest_of_answer(answer: Any) -> str:
    """Returns a digest of an answer without its ids and times of making."""
    return hashlib.sha256(json.dumps(_without_varying(answer), sort_keys=True).encode()).hexdigest()


def _without_varying(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_varying(each) for name, each in value.items() if name not in _VARYING}
    return [_without_varying(each) for each in value] if isinstance(value, list) else value


def measure_checkout(checkout: Path, arguments: list[str], bench: str = __file__) -> Figures:
    """Returns the figures of a process that runs a bench with the code of a checkout."""
    program = [
        sys.executable,
        "-c",
        _RUN_IN_CHECKOUT,
        str(checkout),
        str(Path(bench).resolve()),
        *arguments,
    ]
    ran = subprocess.run(program, check=True, capture_output=True, text=True, cwd=checkout)
    return Figures(**json.loads(ran.stdout.splitlines()[-1]))


_RUN_IN_CHECKOUT: Final = "import runpy, sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[2:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def least_figures(runs: list[Figures]) -> dict[str, tuple[float, float]]:
    """Returns the least figures of several runs by request."""
    return {
        name: (min(run.figures[name][0] for run in runs), min(run.figures[name][1] for run in runs))
        for name in runs[0].figures
    }


def compare_checkouts(before: list[Figures], after: list[Figures]) -> list[tuple[str, ...]]:
    """Returns a row for each request.

    Raises:
        SystemExit: the answers differ.
    """
    different = [name for name in after[0].digests if before[0].digests[name] != after[0].digests[name]]
    if different:
        raise SystemExit(f"The checkouts answer differently: {', '.join(different)}")
    olds, news = least_figures(before), least_figures(after)
    return [
        (name, _ms(olds[name][0]), _ms(cpu), _ms(olds[name][1]), _ms(wall))
        for name, (cpu, wall) in news.items()
    ]


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"


def main() -> None:
    """Measures this checkout, or this and another one in turn, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="measure only requests whose names contain this text")
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.against is None:
        measured = asyncio.run(measure(given.rows, folder, given.rounds, given.only))
        if given.json:
            sys.stdout.write(json.dumps(measured._asdict()))
            return
        runs, head = [measured], HEAD
        rows: list[tuple[str, ...]] = [
            (name, _ms(cpu), _ms(wall)) for name, (cpu, wall) in measured.figures.items()
        ]
    else:
        arguments = [str(given.rows), f"--folder={folder}", f"--only={given.only}", "--rounds=1", "--json"]
        before, runs = [], []
        for _ in range(given.rounds):
            before.append(measure_checkout(given.against.resolve(), arguments))
            runs.append(measure_checkout(Path(__file__).parents[2], arguments))
        rows, head = compare_checkouts(before, runs), COMPARED_HEAD
    table = markdown_table(head, rows)
    peak = max(run.peak_megabytes for run in runs)
    sys.stdout.write(f"{table}\n\nPeak of memory: {peak:,.0f} MB.\n")


if __name__ == "__main__":
    main()
