"""Selects of a question, as plain as they are: no source is guessed, no name is made up, no column is doubled.

What SQLAlchemy's own select does beside is half the time of planning a question.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.visitors import InternalTraversal

from plugins.events_sql.conditions import Expression


class Grouped(sa.ClauseElement):
    """Labelled columns of a source, grouped by the first of them.

    Args:
        columns: what is selected.
        source: where from.
        where: the conditions, all of them.
        keys: how many columns make a group.
    """

    __visit_name__ = "grouped"
    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - SQLAlchemy's own declaration
        ("columns", InternalTraversal.dp_clauseelement_list),
        ("source", InternalTraversal.dp_clauseelement),
        ("where", InternalTraversal.dp_clauseelement_list),
        ("keys", InternalTraversal.dp_plain_obj),
    ]

    def __init__(
        self, columns: Sequence[sa.Label[Any]], source: sa.FromClause, where: Sequence[Expression], keys: int
    ) -> None:
        self.columns, self.source, self.where, self.keys = columns, source, where, keys

    @property
    def kinds(self) -> Mapping[str, sa.types.TypeEngine[Any]]:
        """Types of the columns by name."""
        return {column.name: column.type for column in self.columns}


class Together(sa.ClauseElement):
    """All rows of several statements with the same columns."""

    __visit_name__ = "together"
    inherit_cache = True
    _traverse_internals = [("parts", InternalTraversal.dp_clauseelement_list)]  # noqa: RUF012 - likewise

    def __init__(self, parts: Sequence[Grouped]) -> None:
        self.parts = parts


@compiles(Grouped)
def _grouped(element: Grouped, compiler: SQLCompiler, **_: Any) -> str:
    columns = ", ".join(f"{compiler.process(c.element)} AS {c.name}" for c in element.columns)
    text = f"SELECT {columns} FROM {compiler.process(element.source, asfrom=True)}"  # noqa: S608 - compiled parts
    if element.where:
        text += f" WHERE {compiler.process(sa.and_(*element.where))}"
    positions = ", ".join(str(n + 1) for n in range(element.keys))
    return f"{text} GROUP BY {positions}" if element.keys else text


@compiles(Together)
def _together(element: Together, compiler: SQLCompiler, **_: Any) -> str:
    return " UNION ALL ".join(map(compiler.process, element.parts))
