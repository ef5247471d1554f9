"""Compiles statements to SQL text and caches the text by statement shape."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler

from plugins.events_sql.execution.statement_templates import (
    Template,
    TextAndValues,
    is_uncacheable,
    template_key_or_plain_arguments,
)

T = TypeVar("T")
Statement = sa.Select[Any] | sa.CompoundSelect[Any] | sa.Insert | sa.Delete
_MAX_SHAPES: Final = 512
_MAX_TEMPLATES: Final = 512


class DeferredStatement(NamedTuple):
    """A statement given as the function that builds it and the arguments of that function; see `deferred`."""

    build: Callable[..., Statement]
    arguments: tuple[object, ...]


def deferred_statement(build: Callable[..., Statement], *given: object) -> DeferredStatement:
    """Returns the statement ``build(*given)``, which is built once for all arguments that share a template.

    Args:
        build: a pure module-level function. It may add to or subtract from the instants of a plan, but must not
            branch on them (`statement_templates`).
        given: a plan, and plain values without instants; their ``repr`` is part of the cache key.
    """
    return DeferredStatement(build, given)


class StatementCache:
    """SQL texts of one dialect: those of constant statements, and of the latest shapes and templates."""

    def __init__(self, dialect: DefaultDialect) -> None:
        self._dialect = dialect
        self._constant_texts: WeakKeyDictionary[Statement, TextAndValues] = WeakKeyDictionary()
        self._compiled_shapes: LruCache[SQLCompiler] = LruCache(_MAX_SHAPES)
        self._templates: LruCache[Template] = LruCache(_MAX_TEMPLATES)
        self._lock = Lock()

    def render_from_cache(self, statement: Statement | DeferredStatement) -> TextAndValues:
        """Returns text and parameter values of a statement; compiles it when no cached text has its shape."""
        if isinstance(statement, DeferredStatement):
            build, key = statement.build, template_key_or_plain_arguments(statement.arguments)
            if is_uncacheable(key):
                return self._compile_template(build(*key.arguments)).fill_with_request_values(key)
            # The repr distinguishes 1, 1.0 and true, which are equal in Python.
            cache_key = build, repr(key.arguments)
            return self._templates.get_or_create(
                cache_key, lambda: self._compile_template(build(*key.arguments))
            ).fill_with_request_values(key)
        with self._lock:
            rendered = self._constant_texts.get(statement)
        if rendered is None:
            rendered = self._compile_once_per_shape(statement)
            with self._lock:
                self._constant_texts[statement] = rendered
        return rendered

    def _compile_template(self, statement: Statement) -> Template:
        compiled = self._dialect.statement_compiler(self._dialect, statement)
        return Template(*_text_and_values(compiled, compiled.construct_params()))

    def _compile_once_per_shape(self, statement: Statement) -> TextAndValues:
        key = statement._generate_cache_key()  # noqa: SLF001 - SQLAlchemy's own engines use the same door
        if key is None:
            raise TypeError("A construct without inherit_cache keeps this statement from being cached.")
        compiled = self._compiled_shapes.get_or_create(
            key.key, lambda: self._dialect.statement_compiler(self._dialect, statement, cache_key=key)
        )
        return _text_and_values(compiled, compiled.construct_params(extracted_parameters=key.bindparams))


def _text_and_values(compiled: SQLCompiler, values: Mapping[str, Any]) -> TextAndValues:
    if not compiled.positional:
        return str(compiled), values
    return str(compiled), [values[name] for name in compiled.positiontup or ()]


_CACHES: Final[dict[type[DefaultDialect], StatementCache]] = {}


def statement_cache_for(dialect: DefaultDialect) -> StatementCache:
    """Returns the statement cache of a dialect, shared by all stores of the process."""
    return _CACHES.setdefault(type(dialect), StatementCache(dialect))


class LruCache(Generic[T]):
    """A thread-safe cache of the most recently used values; two threads may create the same value twice."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Any, T] = OrderedDict()
        self._lock = Lock()

    def get_or_create(self, key: Any, create_value: Callable[[], T]) -> T:
        """Returns the value of a key, created by ``make`` when it is missing."""
        with self._lock:
            value = self._entries.get(key)
        if value is None:
            value = create_value()
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return value
