"""An operation with its injected dependencies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service_core.access.models import AnonymousCaller, Caller, SignupCaller
from service_core.kernel.operations import HandlerResponse, Operation


@dataclass(frozen=True, slots=True)
class BoundOperation:
    """An operation whose dependencies were resolved when the service was composed.

    Attributes:
        dependencies: parameter to port or value, the same for every request.
        caller_parameter: name of the parameter for the caller; None if the handler has none.
    """

    operation: Operation
    dependencies: Mapping[str, object]
    caller_parameter: str | None = None

    async def call_handler_and_wrap_result(
        self, handler_arguments: Mapping[str, Any], caller: Caller | SignupCaller | AnonymousCaller | None
    ) -> HandlerResponse[Any]:
        """Calls the handler and returns its response; a bare result gets the operation's first status."""
        caller_argument = {self.caller_parameter: caller} if self.caller_parameter else {}
        result = await self.operation.handler(**handler_arguments, **self.dependencies, **caller_argument)
        return (
            result
            if isinstance(result, HandlerResponse)
            else HandlerResponse(result, self.operation.statuses[0])
        )
