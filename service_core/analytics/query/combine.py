"""Combines values of several sources by row."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import TypeAlias

from service_core.analytics.measures import DailyMean
from service_core.analytics.query.compute import BaseMeasure
from service_core.analytics.query.plan import SourceQuery
from service_core.kernel.availability import Number

RowKey: TypeAlias = tuple[datetime | None, tuple[str, ...]]
"""Bucket and labels of a row."""


class RowAccumulator:
    """Adds values by row and base measure.

    Attributes:
        positions: position of each base measure in the values of a row.
        rows: values of each row; 0 until a value is added, None for a mean over no day.
    """

    def __init__(self, source_queries: Iterable[SourceQuery]) -> None:
        atoms = [
            base_measure
            for source_query in source_queries
            for base_measure in source_query.aggregation_by_base
        ]
        self.positions: Mapping[BaseMeasure, int] = {
            base_measure: position for position, base_measure in enumerate(atoms)
        }
        self.rows: dict[RowKey, list[Number | None]] = {}
        self._initial_values: Sequence[Number | None] = [
            None if isinstance(base_measure, DailyMean) else 0 for base_measure in atoms
        ]

    def get_or_add_zero_row(self, key: RowKey) -> list[Number | None]:
        """Returns the values of a row; creates the row if it is new."""
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = list(self._initial_values)
        return row

    def add(self, key: RowKey, positions: Sequence[int], values: Iterable[float | Fraction]) -> None:
        """Adds values to a row; stored values with the same label share a row."""
        row = self.get_or_add_zero_row(key)
        for position, value in zip(positions, values, strict=True):
            row[position] = (row[position] or 0) + (Fraction(value) if isinstance(value, float) else value)

    def totals_by_base_measure(self) -> dict[BaseMeasure, Number]:
        """Returns the sum over all rows per base measure."""
        return {
            base_measure: sum(row[position] or 0 for row in self.rows.values())
            for base_measure, position in self.positions.items()
        }
