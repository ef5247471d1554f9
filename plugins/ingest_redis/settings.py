"""Settings of the URL: ``redis://user:password@host:6379/0?max_queued=1000000``."""

from typing import Literal

from pydantic import Field

from service_core.plugin import ServerSettings


class IngestRedisSettings(ServerSettings):
    """Settings of the queue in Redis; ``rediss`` is TLS."""

    prefix: str = Field("touchpoint", min_length=1, description="First part of the name of every key.")
    max_queued: int = Field(
        1_000_000, ge=1, description="Events that may wait in the stream; beyond it an event is refused."
    )
    max_pending: int = Field(
        4_096, ge=1, description="Events one process may hold undecided; beyond it one is refused at once."
    )
    timeout_seconds: float = Field(
        1.5, gt=0, le=5, description="How long an offer may take before it is refused."
    )
    state_timeout_seconds: float = Field(
        0.1, gt=0, le=2, description="How long a read waits to hear how far the queue is behind."
    )
    reclaim_seconds: float = Field(
        10, gt=0, description="After this time the batch of a consumer that fell silent goes to another."
    )
    fsync: Literal["always", "everysec"] = Field(
        "always", description="What the server must do at least before it answers; checked at the start."
    )
