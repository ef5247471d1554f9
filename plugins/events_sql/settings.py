"""Settings in the URL of each engine: ``duckdb:///events.db?threads=2&memory_limit=2GB``."""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from service_core.plugin import AdapterSettings

_SYSTEM_ERROR: Final = re.compile(r"\[Errno -?\d+\] ([^\"')]+)")
"""What the system said, inside of what a driver wraps around it."""


class SqlSettings(AdapterSettings):
    """What every engine takes; a misspelt parameter stops the start.

    Attributes:
        readers: questions that run at the same time.
        timeout_seconds: budget of one question.
    """

    readers: Annotated[int, Field(ge=1, le=64)] = 8
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 20.0


class DuckDbSettings(SqlSettings):
    """Where the file lies and what the engine may use.

    Attributes:
        threads: engine threads; 0 takes one per processor.
        memory_limit: what the engine may keep in memory before it spills to disk.
        checkpoint_threshold: size of the log that makes a commit tidy up.
    """

    threads: Annotated[int, Field(ge=0, le=256)] = 0
    memory_limit: Annotated[str, Field(pattern=r"^[1-9]\d*(MB|GB)$")] = "2GB"
    checkpoint_threshold: Annotated[str, Field(pattern=r"^[1-9]\d*(MB|GB)$")] = "128MB"


class _ServerSettings(SqlSettings):
    """A server and the database on it."""

    @model_validator(mode="after")
    def _require_host_and_database(self) -> Self:
        if self.host is None or not self.database:
            raise ValueError("name a server and a database, as in scheme://user:password@host:port/database")
        return self

    @property
    def database(self) -> str:
        """Name of the database."""
        return self.path.name if self.path else ""

    def connection_error_message(self, fault: Exception) -> str:
        """Why the server cannot be used and what to do, in one sentence each and without its password."""
        lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
        system = _SYSTEM_ERROR.search(str(fault))
        reason = (system[1] if system else lines[0] if lines else type(fault).__name__).rstrip(".")
        port = f":{self.port}" if self.port else ""
        return (
            f"The event store on {self.host}{port}, database {self.database}, cannot be used: {reason}. See that "
            "the server runs, and that host, database, user and password in its URL are right."
        )


class PostgreSqlSettings(_ServerSettings):
    """Which server, and how it is reached.

    Attributes:
        sslmode: how the connection is secured, in the words of libpq.
        schema: schema of the tables; created when it is missing.
        connect_seconds: how long a connection may take.
        work_mem: what one sort or hash of a statement may keep in memory before it spills to disk.
    """

    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = "prefer"
    schema_name: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$", alias="schema")] = "public"
    connect_seconds: Annotated[int, Field(ge=1, le=60)] = 5
    work_mem: Annotated[str, Field(pattern=r"^[1-9]\d{0,3}(MB|GB)$")] = "64MB"


class ClickHouseSettings(_ServerSettings):
    """Which server or cluster, and how tables are laid out on it.

    Attributes:
        cluster: name of the cluster in the server's configuration; tables are then replicated and
            spread over its shards. Empty keeps them on the one server.
        secure: whether HTTPS is spoken.
        connect_seconds: how long a connection may take.
    """

    cluster: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]*$")] = ""
    secure: bool = False
    connect_seconds: Annotated[int, Field(ge=1, le=60)] = 5

    @property
    def port_number(self) -> int:
        """Port of the HTTP interface."""
        return self.port or (8443 if self.secure else 8123)
