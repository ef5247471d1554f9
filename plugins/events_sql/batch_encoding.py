"""Encodes batches of events for a store that another process has open; cheap to import."""

from collections.abc import Sequence

from service_core.plugin import Event


def encode_batch(events: Sequence[Event]) -> bytes:
    """Returns the bytes that `SqlEventStore.append_encoded` stores."""
    from plugins.events_sql.writes.event_batch import EventBatch  # noqa: PLC0415 - loads the data frame library

    return EventBatch.of_events(events).encode()
