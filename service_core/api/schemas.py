"""Response models of health and readiness."""

from datetime import datetime
from typing import Literal

from pydantic import Field

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
