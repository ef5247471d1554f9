"""The item lists of events, and the values of their lines."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression, comparable_property
from service_core.plugin import line_item_lists


def listed_lines(table: Any) -> Expression:
    """Returns the first item list of an event; NULL without one."""
    return fn.JsonList(table.c.event_data, *map(sa.literal, line_item_lists.LIST_KEYS))


def first_text_of_keys(line: Expression, names: Sequence[str]) -> Expression:
    """Returns the first non-empty text of several keys of a line."""
    texts = (comparable_property(line, name).text for name in names)
    return sa.func.coalesce(*(sa.func.nullif(text, "") for text in texts), sa.null())


def absolute_number(text: Expression) -> Expression:
    """Returns the number that a text holds, without its sign; NULL for any other text."""
    number = fn.TryCastNumber(text, sa.literal(line_item_lists.NUMBER_PATTERN))
    return sa.case((number < 0, -number), else_=number)
