"""Statements to text: compiled once per shape, so a repeated question only binds its values."""

from collections import OrderedDict
from threading import Lock
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler


class Statements:
    """Compiled texts of one dialect by the cache key of the statement, the latest ``size`` of them."""

    def __init__(self, dialect: DefaultDialect, size: int = 512) -> None:
        self._dialect = dialect
        self._size = size
        self._known: OrderedDict[Any, SQLCompiler] = OrderedDict()
        self._lock = Lock()

    def render(self, statement: sa.Select[Any] | sa.CompoundSelect[Any]) -> tuple[str, list[Any]]:
        """Text with numbered parameters, and their values in that order."""
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
        return str(compiled), [values[name] for name in compiled.positiontup or ()]
