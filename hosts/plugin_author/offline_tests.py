"""A pytest plugin: tests reach no other machine, and each test of a kit is recorded with its promise."""

import inspect
import socket
from typing import Any, Final

import pytest

_KITS: Final = "service_core.testing"
_LOOPBACK: Final = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True)
def _refuse_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def connect_to_loopback(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not str(address[0]).startswith(_LOOPBACK):
            raise OSError(f"the tests of a plugin are run offline, and this one connects to {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_to_loopback)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Records the kit of each test and the first line of its docstring."""
    for item in items:
        function, owner = getattr(item, "function", None), getattr(item, "cls", None)
        module = getattr(function, "__module__", "")
        if owner is not None and function is not None and module.startswith(_KITS):
            kit = next(base.__name__ for base in owner.__mro__ if function.__name__ in vars(base))
            item.user_properties.append(("kit", kit))
        promise = (inspect.getdoc(function) or "").partition("\n")[0] if function is not None else ""
        item.user_properties.append(("promise", promise))
