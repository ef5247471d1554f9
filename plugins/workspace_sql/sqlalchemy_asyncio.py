"""The asynchronous engine of SQLAlchemy without its ORM, which their package loads first: 6 MB of every process."""

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = "sqlalchemy.ext.asyncio"


def _lazy_package(name: str) -> ModuleType:
    """A package whose modules can be imported; all it has itself is loaded once somebody asks for something of it."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    package, load = module_from_spec(spec), spec.loader.exec_module

    def of_package(asked: str) -> Any:
        if find_spec(f"{name}.{asked}") is not None:
            raise AttributeError(asked)  # so the import of a module learns that it is not loaded yet
        del package.__getattr__
        load(package)
        return getattr(package, asked)

    package.__getattr__ = of_package  # type: ignore[method-assign]
    return package


if _PACKAGE not in sys.modules:
    sys.modules[_PACKAGE] = _lazy_package(_PACKAGE)

from sqlalchemy.ext.asyncio.engine import (  # noqa: E402 - now that the package is not loaded for it
    AsyncConnection,
    AsyncEngine,
    create_async_engine,
)

__all__ = ("AsyncConnection", "AsyncEngine", "create_async_engine")
