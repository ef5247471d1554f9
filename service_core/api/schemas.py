"""Response models of health and readiness."""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from service_core.kernel.schemas import ResponseModel

HealthStatus = Literal["ok", "degraded"]


class HealthResponse(ResponseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class ReadinessResponse(ResponseModel):
    """Whether the service can work."""

    status: HealthStatus
    checks: dict[str, HealthStatus]
    queue_age_seconds: float | None
    newest_event_at: datetime | None
    problems: list[str] = Field(description="What the operator has to do, such as to start another version.")


class AnswerMetadata(BaseModel):
    """The metadata of an answer; those without any get some with their first warning."""

    meta: dict[str, Any] = {}

    def with_warnings(self, warnings: tuple[str, ...]) -> Self:
        """Returns the metadata with warnings about the numbers of the answer."""
        return type(self)(meta={**self.meta, "warnings": list(warnings)})
