"""Counts persons or sessions by the text of a column."""

from collections.abc import Hashable, Iterable
from typing import Any

from service_core.plugin import ColumnValueCount, scalar_as_json_text


def count_distinct_by_column_text(
    pairs: Iterable[tuple[Hashable, Any]], limit: int
) -> list[ColumnValueCount]:
    """Returns the most frequent values, equals by code point, an absent value last.

    Args:
        pairs: a person or session, and a value of the column; values without a text are left out.
        limit: maximum number of values.
    """
    counted: dict[str | None, set[Hashable]] = {}
    for unit, value in pairs:
        text = scalar_as_json_text(value)
        if value is None or text is not None:
            counted.setdefault(text, set()).add(unit)
    ordered = sorted(counted.items(), key=lambda entry: (-len(entry[1]), entry[0] is None, entry[0] or ""))
    return [ColumnValueCount(value, len(units)) for value, units in ordered[:limit]]
