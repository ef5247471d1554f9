"""Ports that stream rows for exports."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from service_core.analytics.people.ports import PeoplePageQuery, Person
from service_core.analytics.ports import QueryScope


class ArrowStreamable(Protocol):
    """A table that can be read as an Arrow stream without copying (Arrow PyCapsule interface)."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns the PyCapsule of the stream."""


RowBatch = Mapping[str, Sequence[Any]] | ArrowStreamable
"""A batch of rows by column: lists of plain values, or an Arrow table with the same columns."""


class RowStreams(Protocol):
    """Streams rows in batches, in order, from one consistent state of the store.

    A stream has no time limit. Closing the iterator stops the work inside the engine.
    """

    def stream_events_newest_first(self, scope: QueryScope, limit: int) -> AsyncGenerator[RowBatch, None]:
        """Yields event rows, newest first (timestamp, then seq), at most ``limit``.

        The columns are those of the wire, in their order: timestamps are aware or naive UTC, ``revenue`` is in
        minor units, collections (``external_ids``, ``bot_reasons``, ``event_data``) are JSON text.
        """

    def stream_persons_of_page(self, query: PeoplePageQuery) -> AsyncGenerator[Sequence[Person], None]:
        """Yields the persons of a page of any length."""
