"""Settings of the URL: ``redis://user:password@host:6379/0?queue=touchpoint-exports``."""

from pydantic import Field

from service_core.plugin import ServerSettings


class RqSettings(ServerSettings):
    """Settings of the queue in Redis; ``rediss`` is TLS."""

    queue: str = Field(
        "touchpoint-exports",
        pattern=r"^[A-Za-z0-9_.-]{1,100}$",
        description="Name of the queue; deployments on one server need different ones.",
    )
    timeout_seconds: float = Field(
        0.25, gt=0, le=5, description="How long one answer may take before the queue counts as away."
    )
