"""Settings of the URL: ``memory://?capacity=100000``."""

from pydantic import Field

from service_core.plugin import AdapterSettings


class LimitsMemorySettings(AdapterSettings):
    """Settings of the counters in memory."""

    capacity: int = Field(100_000, ge=1, description="Keys counted in one window at most.")
