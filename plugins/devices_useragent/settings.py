"""What the URL says: ``useragent://?remembered=10000``."""

from pydantic import Field

from service_core.plugin import AdapterSettings


class UserAgentSettings(AdapterSettings):
    """Settings of the user agent parser."""

    cache_size: int = Field(
        10_000, ge=0, description="Different user agents whose description is remembered."
    )
