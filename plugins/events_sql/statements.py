"""Statements to text: compiled once per shape, and not even built again for a question like one before."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler

from plugins.events_sql.templates import Rendered, Template, is_of_its_own, question

T = TypeVar("T")
Statement = sa.Select[Any] | sa.CompoundSelect[Any] | sa.Insert | sa.Delete
_SHAPES: Final = 512
_QUESTIONS: Final = 512


class Built(NamedTuple):
    """A statement as the function that builds it and what it is built from, see `built`."""

    build: Callable[..., Statement]
    given: tuple[object, ...]


def built(build: Callable[..., Statement], *given: object) -> Built:
    """The statement ``build(*given)``, built once for all that have a template in common (`templates`).

    Args:
        build: a pure function of a module. It may move the instants of a plan by some time; what it makes
            of them does not depend on what they are.
        given: a plan, and plain values without instants; their ``repr`` tells all of them.
    """
    return Built(build, given)


class Statements:
    """Texts of one dialect: of constant statements, and of the latest shapes and questions."""

    def __init__(self, dialect: DefaultDialect) -> None:
        self._dialect = dialect
        self._constant: WeakKeyDictionary[Statement, Rendered] = WeakKeyDictionary()
        self._shapes: Latest[SQLCompiler] = Latest(_SHAPES)
        self._templates: Latest[Template] = Latest(_QUESTIONS)
        self._lock = Lock()

    def render(self, statement: Statement | Built) -> Rendered:
        """Text and values; at once for a statement that was rendered before, or a question like one that was."""
        if isinstance(statement, Built):
            build, asked = statement.build, question(statement.given)
            if is_of_its_own(asked):
                return self._template(build(*asked.given)).filled(asked)
            # The text of the values tells 1 from 1.0 and from true, which are equal to Python.
            key = build, repr(asked.given)
            return self._templates.get(key, lambda: self._template(build(*asked.given))).filled(asked)
        with self._lock:
            known = self._constant.get(statement)
        if known is None:
            known = self._compiled(statement)
            with self._lock:
                self._constant[statement] = known
        return known

    def _template(self, statement: Statement) -> Template:
        compiled = self._dialect.statement_compiler(self._dialect, statement)
        return Template(*_rendered(compiled, compiled.construct_params()))

    def _compiled(self, statement: Statement) -> Rendered:
        key = statement._generate_cache_key()  # noqa: SLF001 - SQLAlchemy's own engines use the same door
        if key is None:
            raise TypeError("A construct without inherit_cache keeps this statement from being cached.")
        compiled = self._shapes.get(
            key.key, lambda: self._dialect.statement_compiler(self._dialect, statement, cache_key=key)
        )
        return _rendered(compiled, compiled.construct_params(extracted_parameters=key.bindparams))


def _rendered(compiled: SQLCompiler, values: Mapping[str, Any]) -> Rendered:
    if not compiled.positional:
        return str(compiled), values
    return str(compiled), [values[name] for name in compiled.positiontup or ()]


_OF_ALL: Final[dict[type[DefaultDialect], Statements]] = {}


def statements_of(dialect: DefaultDialect) -> Statements:
    """The texts of a dialect, for all stores of the process."""
    return _OF_ALL.setdefault(type(dialect), Statements(dialect))


class Latest(Generic[T]):
    """The values asked for last, for any number of threads; one may be made twice, harmlessly."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[Any, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """The value of a key, made when it is not there."""
        with self._lock:
            value = self._kept.get(key)
        if value is None:
            value = make()
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return value
