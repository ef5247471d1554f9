"""The asynchronous engine of SQLAlchemy without its ORM, which the package would load: 6 MB in every process."""

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = "sqlalchemy.ext.asyncio"


def _lazy_package(name: str) -> ModuleType:
    """Returns a package whose modules can be imported; the package itself is loaded at the first access to an attribute."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    package, load = module_from_spec(spec), spec.loader.exec_module

    def load_package_and_get(attribute: str) -> Any:
        if find_spec(f"{name}.{attribute}") is not None:
            raise AttributeError(attribute)  # so that the module is imported
        del package.__getattr__
        load(package)
        return getattr(package, attribute)

    package.__getattr__ = load_package_and_get  # type: ignore[method-assign]
    return package


if _PACKAGE not in sys.modules:
    sys.modules[_PACKAGE] = _lazy_package(_PACKAGE)

from sqlalchemy.ext.asyncio.engine import (  # noqa: E402 - now that the package is not loaded for it
    AsyncConnection,
    AsyncEngine,
    create_async_engine,
)

__all__ = ("AsyncConnection", "AsyncEngine", "create_async_engine")
