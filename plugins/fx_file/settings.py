"""The URL: ``rates:///rates.csv`` beside the settings file, ``rates:////var/rates.csv`` anywhere."""

from pathlib import Path

from pydantic import Field

from service_core.plugin import AdapterSettings


class RateFileSettings(AdapterSettings):
    """Settings of the table of rates."""

    path: Path = Field(description="The file.")
