"""The real ClickHouse engine without a server: chdb runs it in this process, behind the official client."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import clickhouse_connect
import pytest

from plugins.events_sql.adapter import SqlEvents
from plugins.events_sql.dialects.clickhouse.backend import ClickHouse, Connect
from plugins.events_sql.settings import ClickHouseSettings

SMALL: Final = {"max_threads": 1, "compile_expressions": 0, "compile_aggregate_expressions": 0}
"""Worlds of sixty events are not worth a second thread, nor machine code."""


PATIENCE: Final = 120
"""Seconds a question may take: what is tested is its answer, on a machine that may be busy."""


def needed() -> None:
    """Skip a test where the engine is not installed."""
    if find_spec("chdb") is None:
        pytest.skip("the ClickHouse engine is not installed: `nox -s clickhouse` installs it (530 MB)")


def in_process(folder: Path, **options: str) -> Connect:
    """What makes a client of an engine of its own in a folder."""
    needed()

    def connect() -> Any:
        return clickhouse_connect.get_client(
            interface="chdb", path=str(folder), settings=SMALL, chdb_options=options
        )

    return connect


def opened_in_process(folder: Path) -> SqlEvents:
    """A store on an engine of its own; the test is skipped where there is none."""
    return SqlEvents(ClickHouse(settings(), in_process(folder)))


def settings(**told: Any) -> ClickHouseSettings:
    """Settings of a store that is reached in this process."""
    named = {"url": "clickhouse://here/default", "host": "here", "path": "default"}
    return ClickHouseSettings.model_validate({**named, "timeout_seconds": PATIENCE, **told})
