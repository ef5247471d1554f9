"""An operation with its dependencies in place: what the gateway calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service_core.access.models import AnonymousCaller, Caller, SignupCaller
from service_core.kernel.operations import HandlerResponse, Operation


@dataclass(frozen=True, slots=True)
class BoundOperation:
    """An operation whose dependencies were matched when the service was composed.

    Attributes:
        dependencies: parameter -> port or value, the same for every request.
        caller: name of the parameter that takes whoever asks; None when the handler does not want to know.
    """

    operation: Operation
    dependencies: Mapping[str, object]
    caller_parameter: str | None = None

    async def call(
        self, inputs: Mapping[str, Any], who: Caller | SignupCaller | AnonymousCaller | None
    ) -> HandlerResponse[Any]:
        """Run the handler; a bare answer gets the operation's first status."""
        caller = {self.caller_parameter: who} if self.caller_parameter else {}
        result = await self.operation.handler(**inputs, **self.dependencies, **caller)
        return (
            result
            if isinstance(result, HandlerResponse)
            else HandlerResponse(result, self.operation.statuses[0])
        )
