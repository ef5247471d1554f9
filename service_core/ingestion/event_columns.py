"""A batch of events as columns: what several events share is kept once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, overload

from service_core.ingestion.models import COLUMNS, Event

EVENT_COLUMN_NAMES: Final = tuple(column.name for column in COLUMNS)
_values_of_event: Final = attrgetter(*EVENT_COLUMN_NAMES)


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns whose values occur together.

    Attributes:
        names: of the columns.
        rows: distinct values of the columns, in the order of ``names``.
        positions: of each event, the position of its values in ``rows``; None when each event has the row of its own
            position.
    """

    names: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    positions: Sequence[int] | None = None

    def column(self, name: str) -> list[Any]:
        """Returns the values of a column, one for each event."""
        place = self.names.index(name)
        values = [row[place] for row in self.rows]
        return values if self.positions is None else [values[position] for position in self.positions]

    def row(self, event: int) -> tuple[Any, ...]:
        """Returns the values of one event."""
        return self.rows[event if self.positions is None else self.positions[event]]

    def select(self, events: Sequence[int]) -> "ColumnGroup":
        """Returns the group of some events, by their positions in the batch; that of no events has no rows."""
        if self.positions is None or not events:
            return ColumnGroup(self.names, [self.rows[event] for event in events])
        return ColumnGroup(self.names, self.rows, [self.positions[event] for event in events])


class EventColumns(Sequence[Event]):
    """Events kept as columns. An `Event` is made only where one is asked for.

    Args:
        length: the number of events.
        groups: which have each column of `Event` once.
    """

    def __init__(self, length: int, groups: Sequence[ColumnGroup]) -> None:
        self._length = length
        self.groups: Final = tuple(groups)

    @classmethod
    def of_events(cls, events: Sequence[Event]) -> "EventColumns":
        """Returns the columns of events; those that are columns already as they are."""
        if isinstance(events, EventColumns):
            return events
        rows = list(map(_values_of_event, events))
        return cls(len(rows), [ColumnGroup(EVENT_COLUMN_NAMES, rows)])

    def column(self, name: str) -> list[Any]:
        """Returns the values of a column, one for each event."""
        return next(group for group in self.groups if name in group.names).column(name)

    def select(self, events: Sequence[int]) -> "EventColumns":
        """Returns some of the events, by their positions, in that order."""
        return EventColumns(len(events), [group.select(events) for group in self.groups])

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Event]:
        return map(self._build_event_at, range(self._length))

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> "EventColumns": ...
    def __getitem__(self, index: int | slice) -> "Event | EventColumns":
        places = range(self._length)[index]
        return self._build_event_at(places) if isinstance(places, int) else self.select(places)

    def _build_event_at(self, place: int) -> Event:
        return Event(
            **{
                name: value
                for group in self.groups
                for name, value in zip(group.names, group.row(place), strict=True)
            }
        )
