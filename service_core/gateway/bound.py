"""An operation with its dependencies in place: what the gateway calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service_core.access.model import Applicant, Caller, Stranger
from service_core.kernel.operations import Operation, Reply


@dataclass(frozen=True, slots=True)
class Bound:
    """An operation whose dependencies were matched when the service was composed.

    Attributes:
        dependencies: parameter -> port or value, the same for every request.
        caller: name of the parameter that takes whoever asks; None when the handler does not want to know.
    """

    operation: Operation
    dependencies: Mapping[str, object]
    caller: str | None = None

    async def call(self, inputs: Mapping[str, Any], who: Caller | Applicant | Stranger | None) -> Reply[Any]:
        """Run the handler; a bare answer gets the operation's first status."""
        caller = {self.caller: who} if self.caller else {}
        result = await self.operation.handler(**inputs, **self.dependencies, **caller)
        return result if isinstance(result, Reply) else Reply(result, self.operation.statuses[0])
