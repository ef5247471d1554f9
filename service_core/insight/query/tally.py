"""What the sources found, row by row, before measures are computed from it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import TypeAlias

from service_core.insight.measures import DailyMean
from service_core.insight.query.formula import Atom
from service_core.insight.query.parts import Part
from service_core.kernel.reading import Number

Key: TypeAlias = tuple[datetime | None, tuple[str, ...]]
"""Bucket and labels of a row."""


class Tally:
    """Values by row and atom.

    Attributes:
        slots: place of each atom in a row's values.
        rows: values of each row; 0 until something is found, None for a mean over no day.
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        atoms = [atom for part in parts for atom in part.sent]
        self.slots: Mapping[Atom, int] = {atom: slot for slot, atom in enumerate(atoms)}
        self.rows: dict[Key, list[Number | None]] = {}
        self._blank: Sequence[Number | None] = [None if isinstance(atom, DailyMean) else 0 for atom in atoms]

    def row(self, key: Key) -> list[Number | None]:
        """The values of a row, made when it is new."""
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = list(self._blank)
        return found

    def add(self, key: Key, slots: Sequence[int], values: Iterable[float | Fraction]) -> None:
        """Add values to a row; two stored values of one label are one row."""
        row = self.row(key)
        for slot, value in zip(slots, values, strict=True):
            row[slot] = (row[slot] or 0) + (Fraction(value) if isinstance(value, float) else value)

    def sums(self) -> dict[Atom, Number]:
        """Per atom, the sum over all rows."""
        return {atom: sum(row[slot] or 0 for row in self.rows.values()) for atom, slot in self.slots.items()}
