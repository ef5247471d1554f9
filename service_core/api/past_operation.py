"""An operation over the facts of an earlier instant."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime

from service_core.access.models import Caller
from service_core.api.bound_operation import BoundOperation
from service_core.kernel.operations import Operation


@dataclass(frozen=True, slots=True)
class PastOperation:
    """An operation over the facts of an earlier instant.

    Attributes:
        bound_operation: the operation with dependencies of the instant.
        caller: the caller, at the instant.
        warnings: why the answer differs from the one that was given then.
    """

    bound_operation: BoundOperation
    caller: Caller
    warnings: tuple[str, ...]


OpenPastOperation = Callable[[Operation, Caller, datetime], AbstractAsyncContextManager[PastOperation]]
"""Gives an operation over the facts of an earlier instant, as long as the context is open."""
