"""Row sources (subqueries and CTEs) that are built and compiled once per shape, with bound parameters.

Building and compiling a SQLAlchemy expression costs far more than formatting its text, and the row sources
(`relation_rows`, `touches`, `credited_conversions`) differ between requests only in the workspace and a few
instants. So a source is a pure function of its shape; it declares parameters for everything else, and each
use supplies their values. A source may contain other sources: a parameter that an inner source is not given
becomes a parameter of the outer one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import starmap
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import TextualSelect
from sqlalchemy.sql.visitors import InternalTraversal

from plugins.events_sql.schema.row_mapping import to_naive_utc
from service_core.plugin import ORDER_DEDUP_WINDOW, QueryScope, TimeRange

Query: TypeAlias = sa.Select[Any] | sa.CompoundSelect[Any]
_MAX_SOURCES: Final = 1024
_PARAMETER_MARK: Final = "\x00"
SqlType: TypeAlias = sa.types.TypeEngine[Any]
_PARAMETER_TYPES: Final[dict[str, SqlType]] = {}


def declare_parameter(name: str, sql_type: SqlType) -> sa.BindParameter[Any]:
    """Returns a bind parameter that sources are given by name; a name has the same type everywhere."""
    _PARAMETER_TYPES[name] = sql_type
    return sa.bindparam(name, type_=sql_type)


WORKSPACE: Final = declare_parameter("workspace", sa.Uuid())
START: Final = declare_parameter("start", sa.DateTime())
END: Final = declare_parameter("end", sa.DateTime())
END_WITH_REPEATS: Final = declare_parameter("until", sa.DateTime())
"""`END` plus the time in which a repeated report of an order may arrive."""
CONVERSION_NAMES: Final = declare_parameter("names", sa.ARRAY(sa.Text()))
"""Names of the events that count as conversions."""
REVENUE_NAMES: Final = declare_parameter("revenue_names", sa.ARRAY(sa.Text()))
"""Names of the events that the workspace lists as revenue events."""
CUSTOM_REVENUE: Final = declare_parameter("custom_revenue", sa.Boolean())
"""Whether the amounts of custom event names are money."""
WINDOW: Final = declare_parameter("within", sa.BigInteger())
"""The attribution window: microseconds before a conversion in which a touch counts."""


def bind_parameters(scope: QueryScope, span: TimeRange | None = None) -> dict[str, Any]:
    """Returns the bind parameters of a scope: workspace, conversion and revenue events and, with a span, its instants."""
    values = {
        "workspace": scope.workspace_id,
        "names": sorted(scope.conversions.names),
        "revenue_names": sorted(scope.conversions.revenue_names),
        "custom_revenue": scope.conversions.custom_revenue,
    }
    if span is None:
        return values
    return {
        **values,
        "start": to_naive_utc(span.start),
        "end": to_naive_utc(span.end),
        "until": to_naive_utc(span.end + ORDER_DEDUP_WINDOW),
    }


class _LazyColumns(dict[str, sa.ColumnClause[Any]]):
    """Columns by name, created on access, because most columns of a source are never used."""

    def __init__(self, table: sa.FromClause, kinds: Mapping[str, SqlType]) -> None:
        self._table, self._kinds = table, kinds

    def __missing__(self, name: str) -> sa.ColumnClause[Any]:
        column = self[name] = sa.column(name, self._kinds[name])
        column.table = self._table
        return column

    def __getattr__(self, name: str) -> sa.ColumnClause[Any]:
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._kinds)


class NamedSubquery(sa.FromClause):
    """A query in parentheses under an alias.

    Args:
        query: the query.
        name: the alias.
        kinds: types of its columns by name.
    """

    __visit_name__ = "derived"
    named_with_column = True
    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - SQLAlchemy's own declaration
        ("query", InternalTraversal.dp_clauseelement),
        ("name", InternalTraversal.dp_string),
    ]

    def __init__(self, query: sa.ClauseElement, name: str, kinds: Mapping[str, SqlType]) -> None:
        self.query, self.name, self._kinds = query, name, kinds

    @property
    def _from_objects(self) -> list[sa.FromClause]:
        return [self]

    @cached_property
    def c(self) -> Any:
        """Its columns."""
        return _LazyColumns(self, self._kinds)

    def with_columns(
        self, name: str, *columns: sa.Label[Any], where: Sequence[sa.ColumnElement[Any]] = ()
    ) -> "NamedSubquery":
        """Returns a subquery over this one with further columns and conditions, under another alias."""
        all_columns: sa.ColumnElement[Any] = sa.literal_column(f"{self.name}.*")
        query = sa.select(all_columns, *columns).select_from(self).where(*where)
        return NamedSubquery(query, name, {**self._kinds, **{column.name: column.type for column in columns}})


class _LazyCte(sa.CTE):
    """A common table expression whose columns are created on access."""

    inherit_cache = True
    column_types: Mapping[str, SqlType]

    @cached_property
    def c(self) -> Any:
        """Its columns."""
        return _LazyColumns(self, self.column_types)


@compiles(NamedSubquery)
def _compile_subquery(element: NamedSubquery, compiler: SQLCompiler, **_: Any) -> str:
    return f"({compiler.process(element.query, asfrom=True)}) AS {element.name}"


class _CompiledText(NamedTuple):
    """A source compiled for a dialect: alternating SQL text and parameter names, and the values of constants."""

    pieces: list[str]
    constants: Mapping[str, sa.BindParameter[Any]]


class CompiledSource:
    """A source of one shape.

    Args:
        build: builds its query.
    """

    def __init__(self, build: Callable[[], Query]) -> None:
        query = build()
        self._build = build
        self._query: Query | None = query
        self._kinds = {str(c.key): c.type for c in query.selected_columns}
        self.parameters = frozenset(_unbound_parameters(query))
        self._texts: dict[type[Dialect], _CompiledText] = {}

    def as_table(self, name: str) -> sa.TableClause:
        """Returns a table clause with the columns of the source, to refer to it as a CTE of that name."""
        return sa.table(name, *starmap(sa.column, self._kinds.items()))

    def as_cte(self, name: str, *referenced: sa.FromClause, **values: Any) -> sa.CTE:
        """Returns the source as a common table expression; see `as_subquery`."""
        query = _add_referenced_ctes(self._bind_declared_parameters(values).columns(), referenced)
        common = _LazyCte._construct(query, name=name)  # noqa: SLF001 - what its own `cte` does
        common.column_types = self._kinds
        return common

    def as_subquery(self, name: str, *referenced: sa.FromClause, **values: Any) -> NamedSubquery:
        """Returns the source as a subquery for a FROM clause.

        Args:
            name: its alias.
            referenced: CTEs that the source refers to by name; other tables need not be listed.
            values: by parameter name; names that the source does not declare are ignored.
        """
        given = self._bind_declared_parameters(values)
        return NamedSubquery(
            _add_referenced_ctes(given.columns(), referenced) if referenced else given, name, self._kinds
        )

    def _bind_declared_parameters(self, values: Mapping[str, Any]) -> "_BoundSource":
        return _BoundSource(
            self,
            {
                n: sa.literal(value, _PARAMETER_TYPES[n])
                for n, value in values.items()
                if n in self.parameters
            },
        )

    def text_compiled_once_per_dialect(self, dialect: Dialect) -> _CompiledText:
        """Returns the text of the source for a dialect, compiled at the first call."""
        compiled = self._texts.get(type(dialect))
        if compiled is None:
            # The query is dropped after the first compilation: it needs more memory than all texts.
            query, self._query = self._query, None
            query = self._build() if query is None else query
            compiler = _parameter_marking_compiler(dialect.statement_compiler)(dialect, query)
            compiled = self._texts[type(dialect)] = _CompiledText(
                str(compiler).split(_PARAMETER_MARK), compiler.constants
            )
        return compiled


@lru_cache(_MAX_SOURCES, typed=True)
def compiled_source(build: Callable[..., Query], *shape: Any) -> CompiledSource:
    """Returns the source ``build(*shape)``, built once per shape.

    Args:
        build: a pure module-level function.
        shape: plain values.
    """
    return CompiledSource(partial(build, *shape))


def _add_referenced_ctes(query: TextualSelect, read: Iterable[sa.FromClause]) -> TextualSelect:
    """Returns a source together with the CTEs it refers to."""
    ctes = [table for table in read if isinstance(table, sa.CTE)]
    return query.add_cte(*ctes) if ctes else query


@runtime_checkable
class StepCompiler(Protocol):
    """A compiler of a dialect that materializes CTEs in separate statements before the main one."""

    def hoist_steps_into_statement(self, source_text: str) -> str:
        """Returns the text of a source without its preceding statements, which are added to those of the whole statement."""


class _BoundSource(sa.TextClause):
    """The text of a source with parameter values; the text is chosen when the dialect is known."""

    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - SQLAlchemy's own declaration
        ("source", InternalTraversal.dp_plain_obj),
        ("values", InternalTraversal.dp_string_clauseelement_dict),
    ]

    def __init__(self, source: CompiledSource, values: Mapping[str, sa.ColumnElement[Any]]) -> None:
        super().__init__("")
        self.source, self.values = source, values


@compiles(_BoundSource)
def _compile_bound_source(element: _BoundSource, compiler: SQLCompiler, **_: Any) -> str:
    text = _text_with_filled_parameters(element, compiler)
    return compiler.hoist_steps_into_statement(text) if isinstance(compiler, StepCompiler) else text


def _text_with_filled_parameters(element: _BoundSource, compiler: SQLCompiler) -> str:
    pieces, constants = element.source.text_compiled_once_per_dialect(compiler.dialect)
    values = {**constants, **element.values}
    texts = {
        name: compiler.process(values[name] if name in values else sa.bindparam(name))
        for name in dict.fromkeys(pieces[1::2])
    }
    return "".join(texts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _unbound_parameters(query: Query) -> Iterator[str]:
    """Yields the names of parameters that a query, and the sources in it, still need."""
    for element in _elements_once(query):
        if isinstance(element, sa.BindParameter) and element.required:
            yield element.key
        if isinstance(element, _BoundSource):
            yield from element.source.parameters - element.values.keys()


def _elements_once(query: Query) -> Iterator[Any]:
    """Yields every element of a query once; SQLAlchemy's own iteration repeats what several elements share."""
    visited: dict[int, Any] = {}
    remaining: list[Any] = [query]
    while remaining:
        element = remaining.pop()
        if id(element) not in visited:
            visited[id(element)] = element
            yield element
            remaining.extend(element.get_children())


def _parameter_marking_compiler(compiler: type[SQLCompiler]) -> Any:
    """Returns a compiler class that marks the positions of parameters and renders other values as literals."""

    class Marking(compiler):  # type: ignore[valid-type,misc]
        def __init__(self, *given: Any, **options: Any) -> None:
            self.constants: dict[str, sa.BindParameter[Any]] = {}
            super().__init__(*given, **options)

        def visit_bindparam(self, bindparam: sa.BindParameter[Any], **options: Any) -> str:
            """Returns a mark, or the literal value where all engines parse it the same way."""
            if not bindparam.required and isinstance(bindparam.type, sa.String | sa.Integer):
                return str(super().visit_bindparam(bindparam, **{**options, "literal_binds": True}))
            if not bindparam.required:
                self.constants[bindparam.key] = bindparam
            return f"{_PARAMETER_MARK}{bindparam.key}{_PARAMETER_MARK}"

    return Marking
