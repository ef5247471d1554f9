"""Settings of the URL, such as ``useragent://?cache_size=20000``."""

from typing import Final

from pydantic import Field

from service_core.plugin import AdapterSettings

DEFAULT_CACHE_SIZE: Final = 20_000


class UserAgentSettings(AdapterSettings):
    """Settings of the user agent parser."""

    cache_size: int = Field(
        DEFAULT_CACHE_SIZE, ge=0, description="Different user agents whose description is remembered."
    )
