"""What the service says about itself: health, readiness and its machine-readable description."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from service_core.gateway.openapi import describe
from service_core.gateway.readiness import Readiness
from service_core.kernel.operations import Budget, Operation, Reply, Surface, operation
from service_core.kernel.params import Answer

State = Literal["ok", "degraded"]


class Health(Answer):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(Answer):
    """Whether the service can do its work."""

    status: State
    checks: dict[str, State]
    queue_age_seconds: float | None
    newest_event_at: datetime | None


class Description:
    """The OpenAPI document of everything that is composed, made when it is first asked for."""

    def __init__(self, operations: Sequence[Operation], public_url: str) -> None:
        self._operations = operations
        self._public_url = public_url

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The document, as JSON values."""
        return describe(self._operations, public_url=self._public_url)


@operation("GET /health", scope=None, budget=Budget.NONE, surface=Surface.ROOT, tag="service")
async def get_health() -> Health:
    """Tell that the process answers. Touches no store."""
    return Health()


@operation(
    "GET /ready", scope=None, budget=Budget.NONE, surface=Surface.ROOT, tag="service", statuses=(200, 503)
)
async def get_ready(*, readiness: Readiness) -> Reply[Ready]:
    """Tell whether stores, queue and limits can be relied on.

    Degraded, with status 503, when one of them does not answer, when an event has waited for more
    than 5 minutes, or when the ledger does not balance.
    """
    reading = await readiness.read()
    answer = Ready(
        status=_state(reading.ok),
        checks={name: _state(ok) for name, ok in reading.checks.items()},
        queue_age_seconds=reading.queue_age_seconds,
        newest_event_at=reading.newest_event_at,
    )
    return Reply(answer, 200 if reading.ok else 503)


@operation("GET /openapi.json", scope=None, budget=Budget.NONE, surface=Surface.ROOT, tag="service")
async def get_description(*, description: Description) -> dict[str, Any]:
    """Describe every operation, as OpenAPI 3.1."""
    return dict(description.document)


def _state(ok: bool) -> State:
    return "ok" if ok else "degraded"


OPERATIONS = (get_health, get_ready, get_description)
