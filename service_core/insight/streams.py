"""Rows too many for a page, as a file takes them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from service_core.insight.people.ports import PeoplePage, Person
from service_core.insight.ports import Scan


class Columnar(Protocol):
    """A table that offers itself as an Arrow stream; any data-frame library reads it without copying."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The PyCapsule of the stream."""


Batch = Mapping[str, Sequence[Any]] | Columnar
"""Some rows, column by column: lists of plain values, or an Arrow table of the same columns."""


class Streams(Protocol):
    """Rows too many for a page, batch by batch, in order, from one state of the store.

    A stream has no time budget; closing the iterator stops the work inside the engine.
    """

    def event_batches(self, scan: Scan, limit: int) -> AsyncGenerator[Batch, None]:
        """Event rows, newest first (timestamp, then seq), at most ``limit``.

        Columns are those of the wire, in their order: timestamps aware or naive UTC, ``revenue`` in
        minor units, collections (``external_ids``, ``bot_reasons``, ``event_data``) as JSON text.
        """

    def person_batches(self, plan: PeoplePage) -> AsyncGenerator[Sequence[Person], None]:
        """The persons of a page of any length."""
