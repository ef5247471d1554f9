"""Measures the CPU time of a request outside the engine: planning, compiling and the rest.

    python -m tests.bench.statement_compilation --folder /tmp/bench

Requests pass the API dispatcher without a socket. The engine replays recorded results at once in the same thread, so
the CPU time of that thread is everything else. Planning lasts until the engine has the last statement: credentials,
parsing, plan, statements. The whole also includes joining, rounding and JSON. ``first`` is a request whose shape is
new since the store was opened; ``new dates`` is the same request about another month. A request may run several
reads; planning is given for the request and per read.
"""

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlencode

from rich.console import Console
from rich.table import Table

from hosts.asgi_runner import freeze_objects_and_raise_gc_threshold
from hosts.composition.compose import Service, compose
from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.execution.query_executor import Backend, StatementRunner
from plugins.events_sql.execution.statement_cache import StatementCache
from plugins.events_sql.execution.statement_templates import ParameterValues
from plugins.events_sql.identity.identity_resolution import _person_join_conditions_and_number
from plugins.events_sql.reads.aggregate import _sum_over_groups, _sum_over_scans
from plugins.events_sql.sql.compiled_sources import compiled_source
from plugins.events_sql.statement_warm_up import compile_frequent_statements_once
from service_core.analytics.query.compute import aggregation_of, list_base_measures
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.sources import UNCONNECTED_REASONS
from service_core.api.http_messages import ApiRequest
from service_core.kernel.settings import IngestSettings, Settings, StorageSettings
from tests.bench.dashboard import create_api_key, folder_has_store
from tests.bench.generated_events import generate_events

END: Final = datetime(2026, 7, 1, tzinfo=UTC)
NOW: Final = END + timedelta(hours=1)
EVENTS: Final = 20_000
TARGET_MS: Final = 3.0
RequestFactory = Callable[[date, date], ApiRequest]


def read_request(path: str, **parameters: Any) -> RequestFactory:
    """Returns a request of a read endpoint over a range."""

    def of(first: date, last: date) -> ApiRequest:
        dates = {"start_date": f"{first}", "end_date": f"{last}"}
        return ApiRequest("GET", f"/v1/{path}", urlencode({**dates, **parameters}))

    return of


def query_request(*metrics: str, by: tuple[str, ...] = (), **fields: Any) -> RequestFactory:
    """Returns a request of the query endpoint."""

    def of(first: date, last: date) -> ApiRequest:
        parameters = {"from": f"{first}", "to": f"{last}"}
        plan = {"metrics": metrics, "dimensions": by, "date_range": parameters, **fields}
        return ApiRequest("POST", "/v1/query", body=json.dumps(plan).encode())

    return of


def metric_request(id_: str) -> RequestFactory:
    """Returns a request of one metric."""

    def of(first: date, last: date) -> ApiRequest:
        parameters = {"metrics": [id_], "start_date": f"{first}", "end_date": f"{last}"}
        return ApiRequest("POST", "/v1/metrics", body=json.dumps(parameters).encode())

    return of


COMPANION_METRICS: Final[Mapping[str, RequestFactory]] = {
    "conversions beside visitors": query_request("visitors", "conversions", by=("channel",)),
    "conversions beside visits, filtered": query_request(
        *("visitors", "bounce_rate", "conversions"),
        by=("channel", "country"),
        filters=[{"dimension": "device_type", "value": "mobile"}],
    ),
    "conversions and money by day": query_request(
        *("visitors", "conversions", "conversion_rate", "revenue", "orders"), interval="day"
    ),
    "money and new customers by provider": query_request(
        *("revenue", "aov", "new_customers", "customers", "repeat_purchase_rate"), by=("provider",)
    ),
    "attributed money by campaign": query_request(
        "attributed_revenue", "attributed_conversions", "visitors", by=("utm_campaign",)
    ),
}
READS: Final[Mapping[str, RequestFactory]] = {
    "/overview": read_request("overview"),
    "/traffic": read_request("traffic"),
    "/traffic?type=campaign": read_request("traffic", type="campaign"),
    "/traffic?type=page": read_request("traffic", type="page"),
    "/devices": read_request("devices"),
    "/locations": read_request("locations"),
    "/events": read_request("events"),
    "/event-names": read_request("event-names"),
    "/events/properties": read_request("events/properties"),
    "/users": read_request("users"),
    "/funnel, two steps": read_request("funnel", steps="page_view,purchase"),
    "/funnel, five steps, excluding": read_request(
        "funnel", steps="page_view,click,add_to_cart,signup,purchase", exclude="refund", unit="session"
    ),
    "/retention": read_request("retention", interval="week"),
    "/ltv": read_request("ltv", interval="month"),
    "/attribution, last touch": read_request("attribution", model="last_touch"),
    "/attribution, position based": read_request("attribution", model="position_based"),
    "/attribution, time decay by source": read_request("attribution", model="time_decay", group_by="source"),
}


@dataclass
class ReplayBackend:
    """A backend that replays recorded results at once."""

    backend: Backend
    answers: dict[str, list[Any]] = field(default_factory=dict)
    replays: bool = False
    questions: int = 0
    asked_last: float = 0

    def open_session(self, budget: float | None = None) -> Any:
        """Returns a session of the engine, or one that replays."""
        return _ReplaySession(self, None if self.replays else self.backend.open_session(budget))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)


@dataclass
class _ReplaySession:
    played: ReplayBackend
    real: Any

    def fetch_rows(self, text: str, values: ParameterValues) -> list[Any]:
        """Runs a statement, or replay its recorded result."""
        self.played.asked_last = time.thread_time()
        if self.real is not None:
            self.played.answers[text] = self.real.fetch_rows(text, values)
        return self.played.answers[text]

    def create_temp_table(self, name: str, text: str, values: ParameterValues) -> None:
        """Creates a temporary table when the engine runs."""
        self.played.asked_last = time.thread_time()
        if self.real is not None:
            self.real.create_temp_table(name, text, values)

    def begin_snapshot(self) -> None:
        """Begins a snapshot when the engine runs."""
        if self.real is not None:
            self.real.begin_snapshot()

    def close(self) -> None:
        """Closes the session of the engine."""
        if self.real is not None:
            self.real.close()


class PlanningBenchmark:
    """A service whose engine can be replaced by recorded results.

    Args:
        service: a service on the embedded store.
        key: an API key of the workspace.
    """

    def __init__(self, service: Service, key: str) -> None:
        self._service, self._key = service, key
        store = service.ports.events
        assert isinstance(store, SqlEventStore)
        self._engine: Any = store._engine
        self.played: Any = ReplayBackend(store.backend)
        vars(self._engine).update(_backend=self.played, run_read_within_time_budget=self._read)

    async def _read(self, work: Callable[[StatementRunner], Any]) -> Any:
        self.played.questions += 1
        reader = StatementRunner(self.played, self._engine._statements)
        try:
            return work(reader)
        finally:
            reader.close()

    def clear_caches(self) -> None:
        """Clear all statement caches and repeat the warm-up."""
        for built in (compiled_source, _person_join_conditions_and_number, _sum_over_scans, _sum_over_groups):
            built.cache_clear()
        self._engine._statements = StatementCache(self.played.dialect)
        compile_frequent_statements_once(self._engine._statements)

    async def measure_request(self, request: ApiRequest) -> tuple[float, float]:
        """Returns the CPU milliseconds of planning a request, and of the whole request."""
        self.played.questions = 0
        sent = ApiRequest(
            *(request.method, request.path, request.query),
            {"authorization": f"Bearer {self._key}"},
            request.body,
        )
        started = time.thread_time()
        response = await self._service.dispatch(sent)
        whole = time.thread_time() - started
        assert response.status == 200, response.body
        return (self.played.asked_last - started) * 1000, whole * 1000


@dataclass(frozen=True)
class PlanningCost:
    """Milliseconds of a request, the minimum of several rounds, and its number of reads.

    Attributes:
        first: planning with a new shape.
        dates: planning with other dates.
        whole: the whole request with other dates.
    """

    name: str
    first: float
    dates: float
    whole: float
    questions: int

    @property
    def figures(self) -> tuple[float, ...]:
        """The columns of the table: planning per read, and per request."""
        questions = max(self.questions, 1)
        return self.first / questions, self.dates / questions, self.first, self.dates, self.whole


async def measure_cost(
    bench: PlanningBenchmark, name: str, asked: RequestFactory, rounds: int
) -> PlanningCost:
    """Sends a request with a new shape, with new dates and again, in rounds."""
    warm = READS["/overview"](_DAYS[0], _DAYS[1])
    first, dates = [], []
    request, other = asked(_DAYS[0], _DAYS[1]), asked(_DAYS[2], _DAYS[3])
    bench.played.replays = False
    for one in (warm, request, other):
        await bench.measure_request(one)
    bench.played.replays = True
    for _ in range(rounds):
        gc.collect()
        bench.clear_caches()
        await bench.measure_request(warm)
        first.append(await bench.measure_request(request))
        dates.append(await bench.measure_request(other))
    (planned, _), (again, whole) = (map(min, zip(*each, strict=True)) for each in (first, dates))
    return PlanningCost(name, planned, again, whole, bench.played.questions)


_DAYS: Final = (date(2026, 6, 1), date(2026, 6, 30), date(2026, 5, 1), date(2026, 5, 30))


def print_costs(console: Console, title: str, costs: list[PlanningCost], *, every: bool) -> None:
    """Print a table of costs, all of them or median and maximum."""
    table = Table("request", "questions", *_FIGURES, title=title)
    for cost in costs if every else ():
        style = "bold red" if max(cost.figures[:2]) > TARGET_MS else ""
        figures = (f"{figure:.2f}" for figure in cost.figures)
        table.add_row(cost.name, str(cost.questions), *figures, style=style)
    for name, of in (("p50", median), ("max", max)):
        columns = zip(*(cost.figures for cost in costs), strict=True)
        table.add_row(f"{len(costs)} together, {name}", "", *(f"{of(column):.2f}" for column in columns))
    console.print(table)


_FIGURES: Final = ("first, each", "new dates, each", "first", "new dates", "whole, new dates")


async def main(folder: Path, rounds: int, *, every: bool) -> None:
    """Generate few events and measure."""
    name = "planning.db"
    fresh = folder_has_store(folder, name)
    settings = Settings(
        storage=StorageSettings(
            events=f"duckdb:///{name}?threads=2", workspace="sqlite:///panels_workspace.db"
        ),
        ingest=IngestSettings(queue="spool:///panels_spool.db"),
    )
    console = Console(width=120)
    async with compose(settings, folder, clock=lambda: NOW) as service:
        freeze_objects_and_raise_gc_threshold()
        if fresh:
            await generate_events(service.ports.events, EVENTS, END)  # type: ignore[arg-type]
        bench = PlanningBenchmark(service, await create_api_key(service))
        catalog = service.component(MetricQueries).catalog
        alone = {
            id_: metric_request(id_)
            for id_, one in catalog.metrics.items()
            if not any(
                aggregation_of(atom).relation in UNCONNECTED_REASONS
                for atom in list_base_measures(one.measure)
            )
        }
        for title, request in (
            ("metrics alone", alone),
            ("beside others", COMPANION_METRICS),
            ("reads", READS),
        ):
            costs = [await measure_cost(bench, name, of, rounds) for name, of in request.items()]
            print_costs(
                console,
                f"planning of {title}, CPU ms; target {TARGET_MS:.0f} a question",
                costs,
                every=every or request is not alone,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--every", action="store_true", help="show each metric")
    given = parser.parse_args()
    asyncio.run(main(given.folder, given.rounds, every=given.every))
