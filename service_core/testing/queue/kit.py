"""Fixtures and builders that all tests of the ingest queue kit share."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from service_core.ingestion.models import Event, IngestEndpoint, LedgerRow, QueuedEvent, ReceivedEvent
from service_core.ingestion.ports import IngestQueue

OpenQueue = Callable[[], AbstractAsyncContextManager[IngestQueue]]
"""Opens the queue under test again, as another process does."""

NOON: Final = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)


class IngestQueueKit:
    """Gives the fixtures of the kit's classes; override ``open_queue``."""

    @pytest.fixture
    def open_queue(self) -> OpenQueue:
        """Returns a function that opens the queue under test."""
        raise pytest.UsageError("override the fixture `open_queue` with the adapter under test")

    @pytest.fixture
    async def queue(self, open_queue: OpenQueue) -> AsyncIterator[IngestQueue]:
        """Yields the queue under test, opened once."""
        async with open_queue() as queue:
            yield queue

    @pytest.fixture
    def client(self) -> "WriteKeyClient":
        """Returns a client with a new workspace and write key."""
        return WriteKeyClient()


class WriteKeyClient:
    """A workspace and a write key, with the events that they send."""

    def __init__(self) -> None:
        self.workspace_id: Final = uuid4()
        self.key_id: Final = uuid4()

    def make_received_event(
        self, event_id: str = "order_1", *, received_at: datetime = NOON, **overrides: Any
    ) -> ReceivedEvent:
        """Returns a purchase received from this client with a claimed id, with fields overridden."""
        fields: dict[str, Any] = {
            "workspace_id": self.workspace_id,
            "key_id": self.key_id,
            "channel": IngestEndpoint.TRACK,
            "event_id": event_id,
            "claimed": True,
            "received_at": received_at,
            "body": b'{"event":"purchase","user_id":"u"}',
            "user_agent": "Mozilla/5.0",
            "address": "203.0.113.7",
            "headers": {"accept-language": "de"},
        }
        return ReceivedEvent(**fields | overrides)

    async def own_ledger_rows(self, queue: IngestQueue) -> list[LedgerRow]:
        """Returns the ledger rows of the workspace from 9 days before to 40 days after `NOON`."""
        return await queue.ledger_rows(self.workspace_id, NOON - timedelta(days=9), NOON + timedelta(days=40))

    async def only_ledger_row(self, queue: IngestQueue) -> LedgerRow:
        """Returns the only ledger row of the workspace; fails when there are more."""
        (row,) = await self.own_ledger_rows(queue)
        return row


def make_stored_event(queued: QueuedEvent, **overrides: Any) -> Event:
    """Returns an event row for a queued event, with fields overridden."""
    arrival = queued.arrival
    fields: dict[str, Any] = {
        "event_id": arrival.event_id,
        "event_name": "purchase",
        "timestamp": arrival.received_at,
        "received_at": arrival.received_at,
        "visitor_id": "v",
        "session_id": "s",
        "workspace_id": arrival.workspace_id,
        "seq": queued.seq,
    }
    return Event(**fields | overrides)
