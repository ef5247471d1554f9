"""The URL: ``mmdb:///city.mmdb`` beside the settings file, ``mmdb:////var/city.mmdb`` anywhere."""

from pathlib import Path

from pydantic import Field

from service_core.plugin import AdapterSettings


class MmdbSettings(AdapterSettings):
    """Settings of the place database."""

    path: Path = Field(description="The database file.")
    language: str = Field("en", description="Language of region and city names.")
