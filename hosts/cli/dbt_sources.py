"""Describes the files of a lake as a source of dbt."""

from collections.abc import Sequence
from typing import Any, Final

from service_core.delivery.lake.columns import EVENT_LAKE_COLUMNS, MONEY_TABLES, PARTITION_COLUMN, LakeColumn
from service_core.delivery.lake.models import DEFINITIONS, MANIFEST_NAME

FILES_VARIABLE: Final = "touchpoint_files"
"""Variable of DuckDB with the files of the manifest; globbing would read a day twice while it is replaced."""


def set_files_variable(location: str, table: str | None = None) -> str:
    """Returns the statement that reads the files of a manifest into a variable, for ``on-run-start`` of dbt.

    Args:
        location: folder or bucket with the manifest of a workspace, as DuckDB reads it.
        table: a table besides the events; None for the events.
    """
    root = location.rstrip("/").replace("'", "''")
    files = "files" if table is None else f"tables.{table}.files"
    return (
        f"set variable {_variable_of(table)} = (select list('{root}/' || file.path) "  # noqa: S608 - the owner of the location runs it
        f"from (select unnest({files}) as file from read_json('{root}/{MANIFEST_NAME}')))"
    )


def describe_dbt_sources(location: str) -> dict[str, Any]:
    """Returns a source of dbt with the columns, tests and freshness of the events, and of the tables besides.

    Args:
        location: folder or bucket with the manifest of a workspace, as DuckDB reads it.
    """
    events = {
        **_describe_table(location, None, "events", DEFINITIONS["rows"], EVENT_LAKE_COLUMNS),
        "loaded_at_field": "received_at",
        "freshness": {
            "warn_after": {"count": 1, "period": "day"},
            "error_after": {"count": 3, "period": "day"},
        },
    }
    others = [
        _describe_table(location, table.name, table.name, table.description, table.columns)
        for table in MONEY_TABLES
    ]
    return {"version": 2, "sources": [{"name": "touchpoint", "schema": "main", "tables": [events, *others]}]}


def _variable_of(table: str | None) -> str:
    return FILES_VARIABLE if table is None else f"touchpoint_{table}_files"


def _describe_table(
    location: str, table: str | None, name: str, description: str, columns: Sequence[LakeColumn]
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "meta": {
            "on_run_start": set_files_variable(location, table),
            "external_location": f"read_parquet(getvariable('{_variable_of(table)}'), hive_partitioning = true)",
        },
        "columns": [
            {
                "name": PARTITION_COLUMN,
                "data_type": "date",
                "description": DEFINITIONS["date"],
                "tests": ["not_null"],
            },
            *map(_describe_column, columns),
        ],
    }


def _describe_column(column: LakeColumn) -> dict[str, Any]:
    tests = ["not_null"] if column.is_required else []
    return {
        "name": column.name,
        "data_type": column.type_name,
        "description": column.description,
        **({"tests": tests} if tests else {}),
    }
