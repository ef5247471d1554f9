"""What the URL says: ``sqlite:///workspace.db?busy_seconds=10``."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from service_core.plugin import AdapterSettings


class SqliteSettings(AdapterSettings):
    """Settings of the SQLite file."""

    busy_seconds: float = Field(
        10, gt=0, le=60, description="How long a write waits for the write of another process."
    )

    @property
    def file(self) -> Path:
        """The database file."""
        assert self.path is not None
        return self.path

    @model_validator(mode="after")
    def _names_a_file(self) -> Self:
        if self.path is None or self.host is not None:
            raise ValueError("name a file, as in sqlite:///workspace.db")
        return self
