"""SQLAlchemy elements for SELECT, GROUP BY and UNION ALL that compile faster than the standard ones.

They do not derive FROM clauses, generate no aliases and do not de-duplicate columns, which takes half the
time of planning a read. Expressions used several times in a statement are `CachedText`; expressions that
are the same in all statements are `ConstantText`.
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
    """An expression that wraps another one; it adds no table to the FROM clause."""

    _traverse_internals = [("wrapped", InternalTraversal.dp_clauseelement)]  # noqa: RUF012 - SQLAlchemy's own declaration

    def __init__(self, wrapped: Expression) -> None:
        self.wrapped, self.type = wrapped, wrapped.type

    def self_group(self, against: Any = None) -> Any:
        """Adds parentheses where the wrapped expression needs them."""
        return self if self.wrapped.self_group(against) is self.wrapped else Grouping(self)


class CachedText(_Wrapped):
    """An expression that is compiled once per statement, however often it is used."""

    __visit_name__ = "once"
    inherit_cache = True


class ConstantText(_Wrapped):
    """An expression that is compiled once per dialect."""

    __visit_name__ = "fixed"
    inherit_cache = True

    def __init__(self, wrapped: Expression) -> None:
        super().__init__(wrapped)
        self.text_by_dialect: dict[type[Dialect], str] = {}


class FilteredAggregate(sa.ColumnElement[Any]):
    """An aggregate function over the rows of a group that meet a condition.

    Args:
        how: the name of the function and an opening parenthesis.
        of: its argument.
        met: the condition; None for all rows.
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
    """A SELECT of named columns that is grouped by the first of them.

    Args:
        columns: expressions by alias.
        source: the FROM clause.
        where: conditions, joined by AND.
        keys: the number of columns to group by.
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
        """The types of the columns by name."""
        return {name: column.type for name, column in zip(self.names, self.columns, strict=True)}


class UnionAll(sa.ClauseElement):
    """UNION ALL of statements with the same columns."""

    __visit_name__ = "together"
    inherit_cache = True
    _traverse_internals = [("parts", InternalTraversal.dp_clauseelement_list)]  # noqa: RUF012 - likewise

    def __init__(self, parts: Sequence[GroupedSelect]) -> None:
        self.parts = parts


@compiles(CachedText)
def _compile_cached_text(element: CachedText, compiler: SQLCompiler, **_: Any) -> str:
    texts: dict[CachedText, str] = vars(compiler).setdefault("once", {})
    if element not in texts:
        texts[element] = compiler.process(element.wrapped)
    return texts[element]


@compiles(ConstantText)
def _compile_constant_text(element: ConstantText, compiler: SQLCompiler, **_: Any) -> str:
    kind = type(compiler.dialect)
    if kind not in element.text_by_dialect:
        options = {"literal_binds": True}
        compiled = compiler.dialect.statement_compiler(
            compiler.dialect, element.wrapped, compile_kwargs=options
        )
        element.text_by_dialect[kind] = str(compiled)
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
