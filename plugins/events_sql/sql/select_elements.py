"""Selects of a question, as plain as they are: no source is guessed, no name is made up, no column is doubled.

What SQLAlchemy's own select does beside is half the time of planning a question. What stands in a question
in many places is written `Once`, and what is the same in all questions is `Fixed`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.sql.visitors import InternalTraversal

from plugins.events_sql.sql.conditions import Expression


class _Wrapped(sa.ColumnElement[Any]):
    """An expression that is what it is made of, and knows its text; it adds no table to a FROM clause."""

    _traverse_internals = [("found", InternalTraversal.dp_clauseelement)]  # noqa: RUF012 - SQLAlchemy's own declaration

    def __init__(self, found: Expression) -> None:
        self.found, self.type = found, found.type

    def self_group(self, against: Any = None) -> Any:
        """In brackets where what it is made of needs them."""
        return self if self.found.self_group(against) is self.found else Grouping(self)


class CachedText(_Wrapped):
    """An expression that is written once for a statement, in however many places it stands."""

    __visit_name__ = "once"
    inherit_cache = True


class ConstantText(_Wrapped):
    """An expression that says the same in all statements of a dialect, and is written once for them."""

    __visit_name__ = "fixed"
    inherit_cache = True

    def __init__(self, found: Expression) -> None:
        super().__init__(found)
        self.text_by_dialect: dict[type[Dialect], str] = {}


class FilteredAggregate(sa.ColumnElement[Any]):
    """An aggregate of the rows of a group that meet a condition.

    Args:
        how: its name and an opening bracket.
        of: what it takes of a row.
        met: the condition; None when every row meets it.
    """

    __visit_name__ = "tally"
    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - SQLAlchemy's own declaration
        ("how", InternalTraversal.dp_string),
        ("of", InternalTraversal.dp_clauseelement),
        ("met", InternalTraversal.dp_clauseelement),
    ]

    def __init__(self, how: str, of: Expression, met: Expression | None) -> None:
        self.how, self.of, self.met = how, of, met


class GroupedSelect(sa.ClauseElement):
    """Columns of a source by their names, grouped by the first of them.

    Args:
        columns: what is selected.
        source: where from.
        where: the conditions, all of them.
        keys: how many columns make a group.
    """

    __visit_name__ = "grouped"
    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - SQLAlchemy's own declaration
        ("names", InternalTraversal.dp_string_list),
        ("columns", InternalTraversal.dp_clauseelement_list),
        ("source", InternalTraversal.dp_clauseelement),
        ("where", InternalTraversal.dp_clauseelement_list),
        ("keys", InternalTraversal.dp_plain_obj),
    ]

    def __init__(
        self, columns: Mapping[str, Expression], source: sa.FromClause, where: Sequence[Expression], keys: int
    ) -> None:
        self.names, self.columns = list(columns), list(columns.values())
        self.source, self.where, self.keys = source, where, keys

    @property
    def column_types(self) -> Mapping[str, sa.types.TypeEngine[Any]]:
        """Types of the columns by name."""
        return {name: column.type for name, column in zip(self.names, self.columns, strict=True)}


class UnionAll(sa.ClauseElement):
    """All rows of several statements with the same columns."""

    __visit_name__ = "together"
    inherit_cache = True
    _traverse_internals = [("parts", InternalTraversal.dp_clauseelement_list)]  # noqa: RUF012 - likewise

    def __init__(self, parts: Sequence[GroupedSelect]) -> None:
        self.parts = parts


@compiles(CachedText)
def _compile_cached_text(element: CachedText, compiler: SQLCompiler, **_: Any) -> str:
    known: dict[CachedText, str] = vars(compiler).setdefault("once", {})
    if element not in known:
        known[element] = compiler.process(element.found)
    return known[element]


@compiles(ConstantText)
def _compile_constant_text(element: ConstantText, compiler: SQLCompiler, **_: Any) -> str:
    kind = type(compiler.dialect)
    if kind not in element.text_by_dialect:
        options = {"literal_binds": True}
        own = compiler.dialect.statement_compiler(compiler.dialect, element.found, compile_kwargs=options)
        element.text_by_dialect[kind] = str(own)
    return element.text_by_dialect[kind]


@compiles(FilteredAggregate)
def _compile_filtered_aggregate(element: FilteredAggregate, compiler: SQLCompiler, **_: Any) -> str:
    text = f"{element.how}{compiler.process(element.of)})"
    return text if element.met is None else f"{text} FILTER (WHERE {compiler.process(element.met)})"


@compiles(GroupedSelect)
def _compile_grouped_select(element: GroupedSelect, compiler: SQLCompiler, **_: Any) -> str:
    pairs = zip(element.names, element.columns, strict=True)
    columns = ", ".join(f"{compiler.process(column)} AS {name}" for name, column in pairs)
    text = f"SELECT {columns} FROM {compiler.process(element.source, asfrom=True)}"  # noqa: S608 - compiled parts
    if element.where:
        text += f" WHERE {compiler.process(sa.and_(*element.where))}"
    positions = ", ".join(str(n + 1) for n in range(element.keys))
    return f"{text} GROUP BY {positions}" if element.keys else text


@compiles(UnionAll)
def _compile_union_all(element: UnionAll, compiler: SQLCompiler, **_: Any) -> str:
    return " UNION ALL ".join(map(compiler.process, element.parts))
