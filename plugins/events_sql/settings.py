"""Settings in the URL of the embedded store: ``duckdb:///events.db?threads=2&memory_limit=2GB``."""

from typing import Annotated

from pydantic import Field

from service_core.plugin import AdapterSettings


class DuckSettings(AdapterSettings):
    """Where the file lies and what the engine may use; a misspelt parameter stops the start.

    Attributes:
        threads: engine threads; 0 takes one per processor.
        readers: questions that run at the same time.
        memory_limit: what the engine may keep in memory before it spills to disk.
        checkpoint_threshold: size of the log that makes a commit tidy up.
        timeout_seconds: budget of one question.
    """

    threads: Annotated[int, Field(ge=0, le=256)] = 0
    readers: Annotated[int, Field(ge=1, le=64)] = 8
    memory_limit: Annotated[str, Field(pattern=r"^[1-9]\d*(MB|GB)$")] = "2GB"
    checkpoint_threshold: Annotated[str, Field(pattern=r"^[1-9]\d*(MB|GB)$")] = "128MB"
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 20.0
