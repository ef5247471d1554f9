"""Settings of the URL: ``redis://user:password@host:6379/0?timeout_seconds=0.25``."""

from pydantic import Field

from service_core.plugin import ServerSettings


class RedirectsRedisSettings(ServerSettings):
    """Settings of the cache in Redis; ``rediss`` is TLS."""

    prefix: str = Field("touchpoint", min_length=1, description="First part of the name of every key.")
    timeout_seconds: float = Field(
        0.25, gt=0, le=5, description="How long one answer may take before the store is asked instead."
    )
    max_age_seconds: int = Field(
        60, ge=10, le=3600, description="How long a redirect is remembered before the store is asked again."
    )
