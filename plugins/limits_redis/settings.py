"""Settings of the URL: ``redis://user:password@host:6379/0?timeout_seconds=0.25``."""

from pydantic import Field

from service_core.plugin import ServerSettings


class LimitsRedisSettings(ServerSettings):
    """Settings of the counters in Redis; ``rediss`` is TLS."""

    prefix: str = Field("touchpoint", min_length=1, description="First part of the name of every key.")
    timeout_seconds: float = Field(
        0.25, gt=0, le=5, description="How long one answer may take before the store counts as away."
    )
