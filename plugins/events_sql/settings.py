"""Settings in the URL of each engine, such as ``duckdb:///events.db?threads=2&memory_limit=2GB``."""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from service_core.plugin import AdapterSettings

_SYSTEM_ERROR: Final = re.compile(r"\[Errno -?\d+\] ([^\"')]+)")
"""Matches the text of an operating-system error inside the message of a driver."""


class SqlSettings(AdapterSettings):
    """The settings of every engine; an unknown parameter stops the start.

    Attributes:
        readers: reads that run at the same time.
        timeout_seconds: time budget of one read.
    """

    readers: Annotated[int, Field(ge=1, le=64)] = 8
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 20.0


class DuckDbSettings(SqlSettings):
    """The settings of DuckDB: the path of the file and the resources of the engine.

    Attributes:
        threads: engine threads; 0 means one per processor.
        memory_limit: memory the engine may use before it spills to disk.
        checkpoint_threshold: size of the write-ahead log that triggers a checkpoint.
    """

    threads: Annotated[int, Field(ge=0, le=256)] = 0
    memory_limit: Annotated[str, Field(pattern=r"^[1-9]\d*(MB|GB)$")] = "2GB"
    checkpoint_threshold: Annotated[str, Field(pattern=r"^[1-9]\d*(MB|GB)$")] = "128MB"


class _ServerSettings(SqlSettings):
    """The settings of a database on a server."""

    @model_validator(mode="after")
    def _require_host_and_database(self) -> Self:
        if self.host is None or not self.database:
            raise ValueError("name a server and a database, as in scheme://user:password@host:port/database")
        return self

    @property
    def database(self) -> str:
        """The name of the database."""
        return self.path.name if self.path else ""

    def connection_error_without_password(self, error: Exception) -> str:
        """Returns why the server cannot be used and what to check, without the password."""
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        system = _SYSTEM_ERROR.search(str(error))
        reason = (system[1] if system else lines[0] if lines else type(error).__name__).rstrip(".")
        port = f":{self.port}" if self.port else ""
        return (
            f"The event store on {self.host}{port}, database {self.database}, cannot be used: {reason}. See that "
            "the server runs, and that host, database, user and password in its URL are right."
        )


class PostgreSqlSettings(_ServerSettings):
    """The settings of PostgreSQL.

    Attributes:
        sslmode: the ``sslmode`` of libpq.
        schema_name: schema of the tables; created when it is missing.
        connect_seconds: timeout of a connection attempt.
        work_mem: memory of one sort or hash before it spills to disk.
    """

    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = "prefer"
    schema_name: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$", alias="schema")] = "public"
    connect_seconds: Annotated[int, Field(ge=1, le=60)] = 5
    work_mem: Annotated[str, Field(pattern=r"^[1-9]\d{0,3}(MB|GB)$")] = "64MB"


class ClickHouseSettings(_ServerSettings):
    """The settings of ClickHouse.

    Attributes:
        cluster: name of the cluster in the server's configuration; tables are then replicated and
            distributed over its shards. Empty means one server.
        secure: whether to connect with HTTPS.
        connect_seconds: timeout of a connection attempt.
    """

    cluster: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]*$")] = ""
    secure: bool = False
    connect_seconds: Annotated[int, Field(ge=1, le=60)] = 5

    @property
    def port_number(self) -> int:
        """The port of the HTTP interface."""
        return self.port or (8443 if self.secure else 8123)
