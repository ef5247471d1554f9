"""The real ClickHouse engine without a server: chdb runs it in this process, behind the official client."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import clickhouse_connect
import pytest

from plugins.events_sql.adapter import SqlEvents
from plugins.events_sql.dialects.clickhouse.backend import ClickHouse
from plugins.events_sql.settings import ClickHouseSettings


def opened_in_process(folder: Path) -> SqlEvents:
    """A store on an engine of its own; the test is skipped where chdb is not installed."""
    if find_spec("chdb") is None:
        pytest.skip("chdb is not installed: `uv pip install chdb` brings the ClickHouse engine (530 MB)")

    def connect() -> Any:
        return clickhouse_connect.get_client(interface="chdb", path=str(folder))

    named = {"url": "clickhouse://here/default", "host": "here", "path": "default"}
    return SqlEvents(ClickHouse(ClickHouseSettings.model_validate(named), connect))
