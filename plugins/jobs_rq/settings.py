"""What the URL says: ``redis://user:password@host:6379/0?queue=touchpoint-exports``."""

from typing import Self

from pydantic import Field, model_validator

from service_core.plugin import AdapterSettings


class RqSettings(AdapterSettings):
    """Settings of the queue in Redis; the path is the number of the database, ``rediss`` is TLS."""

    queue: str = Field(
        "touchpoint-exports",
        pattern=r"^[A-Za-z0-9_.-]{1,100}$",
        description="Name of the queue; deployments on one server need different ones.",
    )
    patience_seconds: float = Field(
        0.25, gt=0, le=5, description="How long one answer may take before the queue counts as away."
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
