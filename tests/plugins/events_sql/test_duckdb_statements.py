"""DuckDB statements: a text is one statement."""

import pytest

from plugins.events_sql.adapter import SqlEventStore


async def test_text_of_two_statements_is_refused_instead_of_cut(duckdb: SqlEventStore) -> None:
    two = "CREATE TEMP TABLE first_part AS SELECT 1; CREATE TEMP TABLE second_part AS SELECT 2"

    with pytest.raises(ValueError, match="Expected one SQL statement, got 2"):
        await duckdb._engine.run_write_to_its_end(lambda writer: writer.execute_text(two))
