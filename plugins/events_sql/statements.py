"""Statements to text: compiled once per shape, so a repeated question only binds its values."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler

Statement = sa.Select[Any] | sa.CompoundSelect[Any] | sa.Insert | sa.Delete
Values = Sequence[Any] | Mapping[str, Any]
"""Values of parameters: in order, or by name, as the dialect writes parameters."""


class Statements:
    """Compiled texts of one dialect by the cache key of the statement, the latest ``size`` of them."""

    def __init__(self, dialect: DefaultDialect, size: int = 512) -> None:
        self._dialect = dialect
        self._size = size
        self._known: OrderedDict[Any, SQLCompiler] = OrderedDict()
        self._constant: WeakKeyDictionary[Statement, tuple[str, Values]] = WeakKeyDictionary()
        self._lock = Lock()

    def render(self, statement: Statement) -> tuple[str, Values]:
        """Text with parameters, and their values; at once for a statement that was rendered before."""
        with self._lock:
            known = self._constant.get(statement)
        if known is None:
            known = self._render(statement)
            with self._lock:
                self._constant[statement] = known
        return known

    def _render(self, statement: Statement) -> tuple[str, Values]:
        key = statement._generate_cache_key()  # noqa: SLF001 - SQLAlchemy's own engines use the same door
        if key is None:
            raise TypeError("A construct without inherit_cache keeps this statement from being cached.")
        with self._lock:
            compiled = self._known.get(key.key)
        if compiled is None:
            compiled = self._dialect.statement_compiler(self._dialect, statement, cache_key=key)
        with self._lock:
            self._known[key.key] = compiled
            self._known.move_to_end(key.key)
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        values = compiled.construct_params(extracted_parameters=key.bindparams)
        if not compiled.positional:
            return str(compiled), values
        return str(compiled), [values[name] for name in compiled.positiontup or ()]
