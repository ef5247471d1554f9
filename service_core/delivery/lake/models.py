"""The manifest of a lake: which files belong to it, and what they hold."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import Any, Final

from service_core.delivery.lake.columns import EVENT_LAKE_COLUMNS, MONEY_TABLES, SCHEMA_VERSION, LakeColumn
from service_core.kernel.timestamps import format_timestamp

MANIFEST_NAME: Final = "manifest.json"

DEFINITIONS: Final = {
    "date": "Local day of `timestamp` in the time zone of the manifest; the name of a folder, not a column of a file.",
    "as_of": "Events received before this instant are in the files.",
    "rows": "All stored events, those of bots (`is_bot`) and tests (`is_test`) included.",
    "tables": "Payments and spend, each in a folder of its name; a table without rows is not there.",
    "superseded": "Left out: events of senders without a key that an event with a key repeats. No number counts them.",
}


@dataclass(frozen=True, slots=True)
class LakeFile:
    """A file of a day.

    Attributes:
        path: relative to the manifest.
        day: the local day of its events.
        rows: number of events.
        size: length in bytes.
        sha256: digest of the content, in hex.
    """

    path: str
    day: date
    rows: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LakeManifest:
    """The files of a workspace, and what they are.

    Attributes:
        workspace_id: public id of the workspace.
        timezone: time zone of the days.
        as_of: events received before are in the files.
        written_at: when the run began that wrote it.
        checked_at: when every day was last read and compared.
        left_out: number of events that are not in the files, by reason.
        files: those of events, by day.
        tables: name of another table -> its files, by day.
        schema_version: `SCHEMA_VERSION` of the files.
    """

    workspace_id: str
    timezone: str
    as_of: datetime
    written_at: datetime
    checked_at: datetime
    left_out: Mapping[str, int]
    files: tuple[LakeFile, ...]
    tables: Mapping[str, tuple[LakeFile, ...]] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    @property
    def row_count(self) -> int:
        """Returns the number of events in all files."""
        return sum(file.rows for file in self.files)

    @property
    def paths(self) -> set[str]:
        """Returns the paths of the files of all tables."""
        return {file.path for files in (self.files, *self.tables.values()) for file in files}

    def files_by_day(self) -> dict[date, tuple[LakeFile, ...]]:
        """Returns the files of each day that has events."""
        return group_files_by_day(self.files)

    def to_json(self) -> bytes:
        """Returns the manifest as readers get it, with the columns and definitions."""
        content = {
            "schema_version": self.schema_version,
            "workspace": self.workspace_id,
            "timezone": self.timezone,
            "as_of": format_timestamp(self.as_of),
            "written_at": format_timestamp(self.written_at),
            "checked_at": format_timestamp(self.checked_at),
            "rows": self.row_count,
            "left_out": dict(self.left_out),
            "files": list(map(_file_to_json, self.files)),
            "columns": list(map(_column_to_json, EVENT_LAKE_COLUMNS)),
            "tables": {
                table.name: {
                    "description": table.description,
                    "rows": sum(file.rows for file in files),
                    "files": list(map(_file_to_json, files)),
                    "columns": list(map(_column_to_json, table.columns)),
                }
                for table in MONEY_TABLES
                if (files := self.tables.get(table.name))
            },
            "definitions": DEFINITIONS,
        }
        return json.dumps(content, indent=1, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "LakeManifest":
        """Returns the manifest that `to_json` wrote."""
        parsed: dict[str, Any] = json.loads(content)
        return cls(
            workspace_id=parsed["workspace"],
            timezone=parsed["timezone"],
            as_of=datetime.fromisoformat(parsed["as_of"]),
            written_at=datetime.fromisoformat(parsed["written_at"]),
            checked_at=datetime.fromisoformat(parsed["checked_at"]),
            left_out=parsed["left_out"],
            files=_files_from_json(parsed["files"]),
            tables={
                name: _files_from_json(table["files"]) for name, table in parsed.get("tables", {}).items()
            },
            schema_version=parsed["schema_version"],
        )


def group_files_by_day(files: Iterable[LakeFile]) -> dict[date, tuple[LakeFile, ...]]:
    """Returns the files of each day that has any."""
    by_day: dict[date, tuple[LakeFile, ...]] = {}
    for file in files:
        by_day[file.day] = (*by_day.get(file.day, ()), file)
    return by_day


def _file_to_json(file: LakeFile) -> dict[str, object]:
    return asdict(file) | {"day": file.day.isoformat()}


def _column_to_json(column: LakeColumn) -> dict[str, object]:
    return {
        "name": column.name,
        "type": column.type_name,
        "required": column.is_required,
        "description": column.description,
    }


def _files_from_json(files: Iterable[dict[str, Any]]) -> tuple[LakeFile, ...]:
    return tuple(LakeFile(**file | {"day": date.fromisoformat(file["day"])}) for file in files)
