"""Wrong plugins: small changes of a right one, each of which the kit test that states the broken promise has to catch.

A class inherits from the tests of the right plugin, names the promise, and changes one thing. Only the test of the promise
is collected, and it has to fail.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import pytest

FAILURES = (AssertionError, pytest.fail.Exception)
"""What a kit test raises that finds a fault."""

MIN_WRONG_PLUGINS = 60
MIN_CAUGHT_SHARE = 57 / 60
WRONG_PLUGINS: list[type] = []
"""The classes of all wrong plugins that were imported."""


class WrongPlugin:
    """Base of wrong plugins.

    Attributes:
        promise: name of the kit test that states the promise which the plugin breaks.
        case: parameters of the test, as its id has them; empty for each.
        example: module whose names are replaced; None if the class overrides the fixtures instead.
        replaced: name in the module -> what stands there instead.
        plugin_name: the name that the inner class ``Plugin`` replaces.
    """

    promise: ClassVar[str] = ""
    case: ClassVar[str] = ""
    example: ClassVar[Any] = None
    replaced: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    plugin_name: ClassVar[str] = ""

    def __init_subclass__(
        cls,
        *,
        promise: str = "",
        case: str = "",
        raises: Any = (),
        replaced: Mapping[str, Any] = MappingProxyType({}),
    ):
        """Leaves only the test of the promise, which has to fail.

        Args:
            promise: name of the test without ``test_``; empty for a base class.
            case: see the attribute.
            raises: exceptions of the plugin itself by which the test fails.
            replaced: see the attribute.
        """
        super().__init_subclass__()
        if not promise:
            cls.__test__ = False
            return
        cls.__test__ = True
        cls.promise, cls.case = f"test_{promise}", case
        tests = [name for name in dir(cls) if name.startswith("test_")]
        assert cls.promise in tests, f"{cls.__name__} names no test of its kit"
        for name in tests:
            if name != cls.promise:
                setattr(cls, name, None)
        expected = (*FAILURES, *(raises if isinstance(raises, tuple) else (raises,)))
        cls.pytestmark = [pytest.mark.xfail(strict=True, raises=expected)]
        own = {cls.plugin_name: vars(cls)["Plugin"]} if cls.plugin_name and "Plugin" in vars(cls) else {}
        cls.replaced = {**replaced, **own}
        WRONG_PLUGINS.append(cls)

    @pytest.fixture(autouse=True)
    def _use_the_wrong_plugin(self, monkeypatch):
        for name, value in self.replaced.items():
            monkeypatch.setattr(self.example, name, value)
