"""Counts rows by the text of a column."""

from typing import Any

import sqlalchemy as sa

from plugins.events_sql.sql.conditions import ComparableValue, Expression
from service_core.plugin import ColumnValueCount


def text_or_null(value: ComparableValue) -> Expression:
    """Returns the text of a value; NULL for one that never has a text."""
    return sa.null() if value.text is None else value.text


def is_absent_or_text(value: ComparableValue) -> Expression:
    """Returns whether a value is absent or has a text; lists and objects have none."""
    return sa.or_(value.raw.is_(None), text_or_null(value).is_not(None))


def most_frequent_values(pairs: Any, limit: int) -> sa.Select[Any]:
    """Selects the most frequent texts of ``value`` among distinct rows, with their number.

    Args:
        pairs: a statement with the column ``value`` whose rows are distinct.
        limit: maximum number of values.
    """
    source = pairs.subquery("valued")
    count = sa.func.count().label("n")
    grouped = sa.select(source.c.value, count).group_by(source.c.value).subquery("value_counts")
    c = grouped.c
    return sa.select(c.value, c.n).order_by(c.n.desc(), c.value.asc().nulls_last()).limit(limit)


def to_value_counts(rows: list[Any]) -> list[ColumnValueCount]:
    """Returns the rows of `most_frequent_values`."""
    return [ColumnValueCount(value, count) for value, count in rows]
