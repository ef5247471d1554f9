"""Export rows in small batches."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from service_core.plugin import WIRE_COLUMNS, Event, RowBatch

BATCH_SIZE: Final = 1000
_JSON: Final = frozenset({"external_ids", "bot_reasons", "event_data"})


def event_batches(events: Sequence[Event]) -> Iterator[RowBatch]:
    """Yields events column by column."""
    for start in range(0, len(events), BATCH_SIZE):
        some = events[start : start + BATCH_SIZE]
        yield {name: [_wire_value(event, name) for event in some] for name in WIRE_COLUMNS}


def _wire_value(event: Event, name: str) -> Any:
    value = getattr(event, name)
    return json.dumps(value, ensure_ascii=False) if name in _JSON and value is not None else value
