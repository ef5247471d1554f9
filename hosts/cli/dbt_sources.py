"""Describes the files of a lake as a source of dbt."""

from typing import Any, Final

from service_core.delivery.lake.columns import EVENT_LAKE_COLUMNS, PARTITION_COLUMN, LakeColumn
from service_core.delivery.lake.models import DEFINITIONS, MANIFEST_NAME

FILES_VARIABLE: Final = "touchpoint_files"
"""Variable of DuckDB with the files of the manifest; globbing would read a day twice while it is replaced."""


def set_files_variable(location: str) -> str:
    """Returns the statement that reads the files of a manifest into the variable, for ``on-run-start`` of dbt."""
    root = location.rstrip("/").replace("'", "''")
    return (
        f"set variable {FILES_VARIABLE} = (select list('{root}/' || file.path) "  # noqa: S608 - the owner of the location runs it
        f"from (select unnest(files) as file from read_json('{root}/{MANIFEST_NAME}')))"
    )


def describe_dbt_sources(location: str) -> dict[str, Any]:
    """Returns a source of dbt with the columns, tests and freshness of the events.

    Args:
        location: folder or bucket with the manifest of a workspace, as DuckDB reads it.
    """
    events = {
        "name": "events",
        "description": DEFINITIONS["rows"],
        "meta": {
            "on_run_start": set_files_variable(location),
            "external_location": f"read_parquet(getvariable('{FILES_VARIABLE}'), hive_partitioning = true)",
        },
        "loaded_at_field": "received_at",
        "freshness": {
            "warn_after": {"count": 1, "period": "day"},
            "error_after": {"count": 3, "period": "day"},
        },
        "columns": [
            {
                "name": PARTITION_COLUMN,
                "data_type": "date",
                "description": DEFINITIONS["date"],
                "tests": ["not_null"],
            },
            *map(_describe_column, EVENT_LAKE_COLUMNS),
        ],
    }
    return {"version": 2, "sources": [{"name": "touchpoint", "schema": "main", "tables": [events]}]}


def _describe_column(column: LakeColumn) -> dict[str, Any]:
    tests = ["not_null"] if column.is_required else []
    return {
        "name": column.name,
        "data_type": column.type_name,
        "description": column.description,
        **({"tests": tests} if tests else {}),
    }
