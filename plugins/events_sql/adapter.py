"""The event store over SQL: every port, one question module behind each method."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from typing import Final
from uuid import UUID

from plugins.events_sql import log, persona, streams, visits
from plugins.events_sql.aggregate import aggregate
from plugins.events_sql.cohorts import cohorts
from plugins.events_sql.contested import contested
from plugins.events_sql.engine import Backend, Engine
from plugins.events_sql.funnel import funnel
from plugins.events_sql.items import items
from plugins.events_sql.journey import journey
from plugins.events_sql.origins import origins
from plugins.events_sql.paths import paths
from plugins.events_sql.people import people
from plugins.events_sql.settings import ClickHouseSettings, DuckSettings, PostgresSettings, SqlSettings
from plugins.events_sql.usual import prepare
from service_core.plugin import (
    MOST_OF_A_PERSON,
    Aggregate,
    Batch,
    CohortPlan,
    CohortTable,
    Contested,
    Event,
    EventName,
    EventPage,
    Events,
    FunnelPlan,
    FunnelTable,
    Grid,
    ItemPlan,
    ItemSum,
    Journey,
    JourneyPlan,
    LiveVisitor,
    Origin,
    Path,
    PathPlan,
    PeoplePage,
    Person,
    PropertyKey,
    Scan,
    SessionKey,
    SessionState,
    StartupError,
    StoreUnavailable,
    Touch,
)

_BACKENDS: Final[Mapping[type[SqlSettings], tuple[str, str]]] = {
    DuckSettings: ("duckdb", "DuckDb"),
    PostgresSettings: ("postgresql", "Postgres"),
    ClickHouseSettings: ("clickhouse", "ClickHouse"),
}
"""The package of every engine and its class; the driver is loaded with it."""

_EXTRAS: Final[Mapping[str, str]] = {"psycopg": "postgres", "clickhouse_connect": "clickhouse"}
"""Module of a driver -> the extra that installs it."""


def opened(settings: SqlSettings) -> "SqlEvents":
    """The store that some settings name.

    Raises:
        StartupError: its driver is not installed.
    """
    package, name = _BACKENDS[type(settings)]
    try:
        backend = import_module(f"plugins.events_sql.dialects.{package}.backend")
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get(missing.name or "")
        if extra is None:
            raise
        raise StartupError(
            f"{package}:// needs {missing.name}. Install it with `pip install touchpoint[{extra}]`."
        ) from None
    return SqlEvents(getattr(backend, name)(settings))


class SqlEvents:
    """Events in an engine that speaks SQL.

    Args:
        backend: the engine.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._engine = Engine(backend)

    async def check(self) -> None:
        """Look whether the engine answers; changes nothing.

        Raises:
            StartupError: it does not.
        """
        await asyncio.to_thread(self.backend.reach)

    async def start(self) -> None:
        """Reach the engine, create what is missing, and compute anew what another version computed.

        Raises:
            StartupError: it cannot be used.
        """
        await self._engine.open()
        try:
            await self._engine.write(self.backend.renew)
        except StoreUnavailable as fault:
            raise StartupError("The event store went away while it was opened. Try again.") from fault
        self._engine.prepare(prepare)

    async def aclose(self) -> None:
        """Finish the running batch and let go of the engine."""
        await asyncio.to_thread(self._engine.close)

    async def append(self, events: Sequence[Event]) -> int:
        """Store a batch atomically; the number of new events."""
        return await self._engine.write(lambda writer: self.backend.append(writer, events)) if events else 0

    async def sessions(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """What is stored of these sessions."""
        return await self._engine.read(lambda reader: visits.states(keys, reader)) if keys else {}

    async def maintain(self) -> None:
        """Compact and tidy."""
        await self._engine.write(self.backend.maintain)

    async def rebuild(self) -> None:
        """Compute every derived table anew from the events."""
        await self._engine.write(self.backend.rebuild)

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures by dimensions and buckets."""
        return await self._engine.read(lambda reader: aggregate(plan, reader))

    async def page(self, plan: EventPage) -> Events:
        """Raw event rows."""
        return await self._engine.read(lambda reader: log.page(plan, reader))

    def event_batches(self, scan: Scan, limit: int) -> AsyncGenerator[Batch, None]:
        """Event rows for a file, newest first."""
        return self._engine.stream(lambda reader: streams.events(scan, limit, reader))

    def person_batches(self, plan: PeoplePage) -> AsyncGenerator[Sequence[Person], None]:
        """Persons for a file."""
        return self._engine.stream(lambda reader: streams.persons(plan, reader))

    async def names(self, scan: Scan) -> list[EventName]:
        """Event names in the span."""
        return await self._engine.read(lambda reader: log.names(scan, reader))

    async def properties(self, scan: Scan, limit: int) -> list[PropertyKey]:
        """Custom keys by event name."""
        return await self._engine.read(lambda reader: log.properties(scan, limit, reader))

    async def live(self, scan: Scan, received_since: datetime, limit: int) -> list[LiveVisitor]:
        """Visitors of the last minutes."""
        return await self._engine.read(lambda reader: log.live(scan, received_since, limit, reader))

    async def bounds(self, workspace_id: UUID) -> tuple[datetime, datetime] | None:
        """Timestamps of the first and last event."""
        return await self._engine.read(lambda reader: log.bounds(workspace_id, reader))

    async def people(self, plan: PeoplePage) -> tuple[list[Person], int]:
        """A page of persons and the number of all."""
        return await self._engine.read(lambda reader: people(plan, reader))

    async def resolve(self, workspace_id: UUID, any_id: str) -> str | None:
        """The person an id belongs to."""
        return await self._engine.read(lambda reader: persona.resolve(workspace_id, any_id, reader))

    async def origins(self, workspace_id: UUID, ids: Collection[str]) -> Mapping[str, Origin]:
        """Where the persons of some ids came from."""
        return await self._engine.read(lambda reader: origins(workspace_id, ids, reader)) if ids else {}

    async def contested(self, workspace_id: UUID, limit: int) -> tuple[list[Contested], int]:
        """External ids that link nobody because several persons carry them, and the number of all."""
        return await self._engine.read(lambda reader: contested(workspace_id, limit, reader))

    async def history(self, scan: Scan, person: str, limit: int = MOST_OF_A_PERSON) -> list[Event]:
        """The latest events of a person in the span."""
        return await self._engine.read(lambda reader: persona.history(scan, person, limit, reader))

    async def touches(self, scan: Scan, person: str, limit: int = MOST_OF_A_PERSON) -> list[Touch]:
        """The person's latest touches in the span."""
        return await self._engine.read(lambda reader: persona.person_touches(scan, person, limit, reader))

    async def journey(self, plan: JourneyPlan) -> Journey:
        """Who a person is, and what they did."""
        return await self._engine.read(lambda reader: journey(plan, reader))

    async def revoke_link(self, workspace_id: UUID, event_id: str) -> None:
        """Remove the identity links an event made."""
        await self._engine.write(lambda writer: self.backend.revoke(writer, workspace_id, event_id))

    async def cohorts(self, plan: CohortPlan) -> CohortTable:
        """Cohort sizes and activity."""
        return await self._engine.read(lambda reader: cohorts(plan, reader))

    async def funnel(self, plan: FunnelPlan) -> FunnelTable:
        """Walk the units through the steps."""
        return await self._engine.read(lambda reader: funnel(plan, reader))

    async def paths(self, plan: PathPlan) -> list[Path]:
        """Every different touch path."""
        return await self._engine.read(lambda reader: paths(plan, reader))

    async def items(self, plan: ItemPlan) -> list[ItemSum]:
        """Every kind of item that was sold or came back."""
        return await self._engine.read(lambda reader: items(plan, reader))
