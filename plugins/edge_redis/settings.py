"""What the URL says: ``redis://user:password@host:6379/0?patience_seconds=0.25``."""

from typing import Self

from pydantic import Field, model_validator

from service_core.plugin import AdapterSettings


class EdgeRedisSettings(AdapterSettings):
    """Settings of the memory in Redis; the path is the number of the database, ``rediss`` is TLS."""

    prefix: str = Field("touchpoint", min_length=1, description="First part of the name of every key.")
    patience_seconds: float = Field(
        0.25, gt=0, le=5, description="How long one answer may take before the store is asked instead."
    )
    keep_seconds: int = Field(
        60, ge=10, le=3600, description="How long a redirect is remembered before the store is asked again."
    )

    @property
    def database(self) -> int:
        """Number of the database."""
        return int(self.path.name) if self.path is not None else 0

    @model_validator(mode="after")
    def _names_a_server(self) -> Self:
        if self.host is None:
            raise ValueError("name a server, as in redis://localhost:6379/0")
        if self.path is not None and not str(self.path).removeprefix("/").isdecimal():
            raise ValueError("the path is the number of a database, as in redis://localhost:6379/0")
        return self
