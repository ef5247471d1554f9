"""Settings from the URL: ``sqlite:///workspace.db?busy_seconds=10``, ``postgresql://user@host/touchpoint``."""

from pathlib import Path
from typing import Literal, Self
from urllib.parse import unquote, urlsplit

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


class PostgresSettings(AdapterSettings):
    """Settings of the PostgreSQL database; without a password, that of ``~/.pgpass`` or ``PGPASSWORD``."""

    timeout_seconds: float = Field(
        4,
        gt=0,
        le=60,
        description="How long a read or a change may take, with all it waits for, before it counts as unknown.",
    )
    connections: int = Field(
        10, ge=2, le=200, description="Connections of one process, beside one that watches for changes."
    )
    sslmode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] = Field(
        "prefer", description="Whether the connection is encrypted, and what of the server is verified."
    )
    sslrootcert: Path | None = Field(None, description="File of the authorities the server is verified by.")

    @property
    def database(self) -> str:
        """Name of the database."""
        return unquote(urlsplit(self.url).path.removeprefix("/"))

    @property
    def credentials(self) -> tuple[str | None, str | None]:
        """User and password, decoded from the URL."""
        return self.user and unquote(self.user), self.password and unquote(self.password)

    @property
    def location(self) -> str:
        """Host, port and name of the database, without user and password."""
        port = f":{self.port}" if self.port else ""
        return f"{self.host or 'the local socket'}{port}/{self.database}"

    @model_validator(mode="after")
    def _require_database_name(self) -> Self:
        if not self.database or "/" in self.database:
            raise ValueError("name a database, as in postgresql://user:password@host:5432/touchpoint")
        return self
