"""Sources of rows, built and compiled once per shape: what a question adds to them is values alone.

Building and compiling an expression costs far more than running through its text, and the sources of
rows (`relations`, `touches`, `units` and their like) differ between questions by little more than the
workspace and the instants they look at. So a source is a pure function of its shape; where it needs a
value it has a parameter, which whoever uses it gives. A source may be made of others: a parameter that
is not given there is one of the source around it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import starmap
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import visitors
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import TextualSelect
from sqlalchemy.sql.visitors import InternalTraversal

from plugins.events_sql.rows import naive
from service_core.plugin import REPEAT, Scan, Span

Found: TypeAlias = sa.Select[Any] | sa.CompoundSelect[Any]
_SHAPES: Final = 1024
_MARK: Final = "\x00"
Kind: TypeAlias = sa.types.TypeEngine[Any]
_KINDS: Final[dict[str, Kind]] = {}


def parameter(name: str, kind: Kind) -> sa.BindParameter[Any]:
    """A value that sources are given by this name; it is of one type wherever it stands."""
    _KINDS[name] = kind
    return sa.bindparam(name, type_=kind)


WORKSPACE: Final = parameter("workspace", sa.Uuid())
START: Final = parameter("start", sa.DateTime())
END: Final = parameter("end", sa.DateTime())
UNTIL: Final = parameter("until", sa.DateTime())
"""As long after `END` as another report of an order may come."""
NAMES: Final = parameter("names", sa.ARRAY(sa.Text()))
"""Names of the events that convert."""
WINDOW: Final = parameter("within", sa.BigInteger())
"""Microseconds before a conversion in which a touch counts."""


def told(scan: Scan, span: Span | None = None) -> dict[str, Any]:
    """The values of the parameters above: those of a scan, and of what it looks at."""
    own = {"workspace": scan.workspace_id, "names": sorted(scan.conversions.names)}
    if span is None:
        return own
    return {**own, "start": naive(span.start), "end": naive(span.end), "until": naive(span.end + REPEAT)}


class _Columns(dict[str, sa.ColumnClause[Any]]):
    """Columns by name, each made when it is asked for: most of a source are not."""

    def __init__(self, table: sa.FromClause, kinds: Mapping[str, Kind]) -> None:
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


class Derived(sa.FromClause):
    """A statement in brackets under a name.

    Args:
        found: the statement.
        name: what it is called.
        kinds: types of its columns by name.
    """

    __visit_name__ = "derived"
    named_with_column = True
    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - SQLAlchemy's own declaration
        ("found", InternalTraversal.dp_clauseelement),
        ("name", InternalTraversal.dp_string),
    ]

    def __init__(self, found: sa.ClauseElement, name: str, kinds: Mapping[str, Kind]) -> None:
        self.found, self.name, self._kinds = found, name, kinds

    @property
    def _from_objects(self) -> list[sa.FromClause]:
        return [self]

    @cached_property
    def c(self) -> Any:
        """Its columns."""
        return _Columns(self, self._kinds)

    def wider(
        self, name: str, *columns: sa.Label[Any], where: Sequence[sa.ColumnElement[Any]] = ()
    ) -> "Derived":
        """Its rows that meet some conditions, with further columns, under another name."""
        own: sa.ColumnElement[Any] = sa.literal_column(f"{self.name}.*")
        found = sa.select(own, *columns).select_from(self).where(*where)
        return Derived(found, name, {**self._kinds, **{column.name: column.type for column in columns}})


class _Common(sa.CTE):
    """A statement as a common table; its columns are made when they are asked for."""

    inherit_cache = True
    kinds: Mapping[str, Kind]

    @cached_property
    def c(self) -> Any:
        """Its columns."""
        return _Columns(self, self.kinds)


@compiles(Derived)
def _derived(element: Derived, compiler: SQLCompiler, **_: Any) -> str:
    return f"({compiler.process(element.found, asfrom=True)}) AS {element.name}"


class _Text(NamedTuple):
    """A source in a dialect: text and names of parameters in turn, and the constants among these."""

    pieces: list[str]
    constants: Mapping[str, sa.BindParameter[Any]]


class Source:
    """A source of one shape.

    Args:
        build: makes its statement.
    """

    def __init__(self, build: Callable[[], Found]) -> None:
        found = build()
        self._build = build
        self._found: Found | None = found
        self._kinds = {str(c.key): c.type for c in found.selected_columns}
        self.parameters = frozenset(_parameters(found))
        self._texts: dict[type[Dialect], _Text] = {}

    def named(self, name: str) -> sa.TableClause:
        """What others see of the source as a common table of a name."""
        return sa.table(name, *starmap(sa.column, self._kinds.items()))

    def cte(self, name: str, *read: sa.FromClause, **values: Any) -> sa.CTE:
        """The source as a common table, see `under`."""
        found = _reading(self._given(values).columns(), read)
        common = _Common._construct(found, name=name)  # noqa: SLF001 - what its own `cte` does
        common.kinds = self._kinds
        return common

    def under(self, name: str, *read: sa.FromClause, **values: Any) -> Derived:
        """The source as a part of a FROM clause.

        Args:
            name: what it is called there.
            read: common tables it reads by their names; tables of other kinds are there anyway.
            values: by name of the parameter; those it does not have do no harm.
        """
        given = self._given(values)
        return Derived(_reading(given.columns(), read) if read else given, name, self._kinds)

    def _given(self, values: Mapping[str, Any]) -> "_Given":
        return _Given(
            self, {n: sa.literal(value, _KINDS[n]) for n, value in values.items() if n in self.parameters}
        )

    def text(self, dialect: Dialect) -> _Text:
        """What it is in a dialect."""
        known = self._texts.get(type(dialect))
        if known is None:
            # Of all that is kept, statements would be the most, and nearly every process has one dialect.
            found, self._found = self._found, None
            found = self._build() if found is None else found
            compiler = _marking(dialect.statement_compiler)(dialect, found)
            known = self._texts[type(dialect)] = _Text(str(compiler).split(_MARK), compiler.constants)
        return known


@lru_cache(_SHAPES, typed=True)
def source(build: Callable[..., Found], *shape: Any) -> Source:
    """The source ``build(*shape)``, built once.

    Args:
        build: a pure function of a module.
        shape: plain values.
    """
    return Source(partial(build, *shape))


def _reading(found: TextualSelect, read: Iterable[sa.FromClause]) -> TextualSelect:
    """A source with the common tables it reads."""
    ctes = [table for table in read if isinstance(table, sa.CTE)]
    return found.add_cte(*ctes) if ctes else found


@runtime_checkable
class Stepping(Protocol):
    """A compiler whose dialect works out common tables in steps before the statement."""

    def after_steps(self, text: str) -> str:
        """The text of a source without its steps, which become those of the whole statement."""


class _Given(sa.TextClause):
    """The text of a source, once it is known for which dialect, with what it was given."""

    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 - SQLAlchemy's own declaration
        ("source", InternalTraversal.dp_plain_obj),
        ("values", InternalTraversal.dp_string_clauseelement_dict),
    ]

    def __init__(self, source: Source, values: Mapping[str, sa.ColumnElement[Any]]) -> None:
        super().__init__("")
        self.source, self.values = source, values


@compiles(_Given)
def _given(element: _Given, compiler: SQLCompiler, **_: Any) -> str:
    text = _filled(element, compiler)
    return compiler.after_steps(text) if isinstance(compiler, Stepping) else text


def _filled(element: _Given, compiler: SQLCompiler) -> str:
    pieces, constants = element.source.text(compiler.dialect)
    values = {**constants, **element.values}
    said = {
        name: compiler.process(values[name] if name in values else sa.bindparam(name))
        for name in dict.fromkeys(pieces[1::2])
    }
    return "".join(said[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _parameters(found: Found) -> Iterator[str]:
    """Names of the values that a statement, and the sources in it, are not given."""
    for element in visitors.iterate(found):
        if isinstance(element, sa.BindParameter) and element.required:
            yield element.key
        if isinstance(element, _Given):
            yield from element.source.parameters - element.values.keys()


def _marking(compiler: type[SQLCompiler]) -> Any:
    """The compiler that leaves a mark where a parameter stands, and writes other values out."""

    class Marking(compiler):  # type: ignore[valid-type,misc]
        def __init__(self, *given: Any, **options: Any) -> None:
            self.constants: dict[str, sa.BindParameter[Any]] = {}
            super().__init__(*given, **options)

        def visit_bindparam(self, bindparam: sa.BindParameter[Any], **options: Any) -> str:
            """A mark, or the value where every engine reads it the same way."""
            if not bindparam.required and isinstance(bindparam.type, sa.String | sa.Integer):
                return str(super().visit_bindparam(bindparam, **{**options, "literal_binds": True}))
            if not bindparam.required:
                self.constants[bindparam.key] = bindparam
            return f"{_MARK}{bindparam.key}{_MARK}"

    return Marking
