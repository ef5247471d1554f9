"""Rows too many for a page, as a file takes them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from service_core.analytics.people.ports import PeoplePageQuery, Person
from service_core.analytics.ports import QueryScope


class ArrowStreamable(Protocol):
    """A table that offers itself as an Arrow stream; any data-frame library reads it without copying."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The PyCapsule of the stream."""


RowBatch = Mapping[str, Sequence[Any]] | ArrowStreamable
"""Some rows, column by column: lists of plain values, or an Arrow table of the same columns."""


class RowStreams(Protocol):
    """Rows too many for a page, batch by batch, in order, from one state of the store.

    A stream has no time budget; closing the iterator stops the work inside the engine.
    """

    def stream_events(self, scope: QueryScope, limit: int) -> AsyncGenerator[RowBatch, None]:
        """Event rows, newest first (timestamp, then seq), at most ``limit``.

        Columns are those of the wire, in their order: timestamps aware or naive UTC, ``revenue`` in
        minor units, collections (``external_ids``, ``bot_reasons``, ``event_data``) as JSON text.
        """

    def stream_persons(self, query: PeoplePageQuery) -> AsyncGenerator[Sequence[Person], None]:
        """The persons of a page of any length."""
