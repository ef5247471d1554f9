"""Request and response models of `/imports`."""

from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.delivery.imports.models import ImportFormat, ImportStatus
from service_core.kernel.null_reasons import KNOWN_NULL
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import BodyModel, Clamp, ResponseModel


class CreateImportRequest(BodyModel):
    """Format and name of a file."""

    format: ImportFormat
    file_name: str = Field("", max_length=255, description="As people call the file; shown in lists.")
    site: str | None = Field(
        None, max_length=255, description="Of an access log, required: scheme and host its paths belong to."
    )
    source: str | None = Field(
        None,
        max_length=100,
        description="With the format `source`: id of the import source, as `GET /imports` lists them.",
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description='Field of the event by column, such as `{"Plan": "properties.plan"}`; the other columns are '
        "mapped by their names.",
    )


class StartImportRequest(BodyModel):
    """Whether to import, or to see what another mapping gives."""

    dry_run: bool = Field(True, description="Check the file again with `columns`, and import nothing.")
    columns: dict[str, str] | None = Field(
        None, description="Field of the event by column instead of the present ones; with `dry_run` only."
    )


class RemoveImportRequest(BodyModel):
    """Whether to remove what an import brought in, or to see how much it is."""

    dry_run: bool = Field(True, description="Count the stored events, and remove nothing.")


class ImportRemovalResource(ResponseModel):
    """A removal, planned or requested."""

    dry_run: bool
    events: int = Field(description="Stored events of the import.")
    status: ImportStatus


class ColumnTarget(ResponseModel):
    """The field of the event that a column becomes."""

    column: str
    field: str


class ImportPreview(ResponseModel):
    """What the file becomes, by its first 1,000 lines or rows."""

    is_export: bool = Field(description="The file is an export of Touchpoint; its rows are restored whole.")
    columns: list[ColumnTarget]
    unused: list[str] = Field(description="Columns that no field takes.")
    events: list[dict[str, Any]] = Field(description="The first events as `POST /track` would get them.")
    counts: dict[str, int] = Field(description="Outcome of the first entries by reason.")


class UploadLink(ResponseModel):
    """Where the file is sent."""

    url: str = Field(description="Takes `PUT` with the bytes of the file; the link is the only credential.")
    expires_at: datetime


class ImportDay(ResponseModel):
    """A line of the reconciliation sheet: `rows` is `accepted` and the sum of `differences`."""

    day: date | None = Field(description="UTC day; null for rows that name none.")
    rows: int
    accepted: int = Field(
        description="Rows whose event is in the queue. One that was stored over 7 days ago is dropped later, as `stored_before` in the ledger."
    )
    differences: dict[str, int] = Field(description="Rows that became no event, by reason.")


class ImportResource(ResponseModel):
    """An import job."""

    id: UUID
    status: ImportStatus
    format: ImportFormat
    file_name: str
    site: str | None
    columns: dict[str, str]
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    byte_count: Annotated[int | None, KNOWN_NULL] = Field(
        description="Size of the file; null until it is uploaded."
    )
    read_bytes: int = Field(description="Bytes of the file that are imported.")
    entry_count: int = Field(description="Lines or rows that are imported or left out.")
    accepted: int = Field(
        description="Events that the queue took; those stored over 7 days ago are dropped later, as `stored_before` in the ledger."
    )
    duplicates: int = Field(description="Events that were there before.")
    left_out: dict[str, int] = Field(description="Lines or rows that became no event, by reason.")
    received_now: int = Field(
        description="Accepted events whose time cannot be read or lies before 2020; they take the time of the import."
    )
    error: str | None
    preview: ImportPreview | None = Field(description="Null until the file is checked.")
    upload: UploadLink | None = Field(description="Null once the file is uploaded.")
    source: Annotated[str | None, KNOWN_NULL] = Field(
        description="Import source that reads the file; null for the other formats."
    )
    days: list[ImportDay] = Field(
        description="The reconciliation sheet, oldest day first; empty in lists and before the start."
    )
    removed_events: int = Field(description="Events that the removal of the import deleted.")


class ImportSourceResource(ResponseModel):
    """A product whose files can be imported."""

    id: str
    label: str
    files: str = Field(description="Which files it reads.")
    homepage: str = Field(description="Where the vendor documents the format.")


class ImportList(ResponseModel):
    """Recent imports, newest first, and the installed import sources."""

    imports: list[ImportResource]
    sources: list[ImportSourceResource]


class ImportListQuery(RowSelection):
    """Parameters of `GET /imports`."""

    limit: Annotated[int, Clamp(1, 100)] = 20


class ImportPath(BaseModel):
    """Which import."""

    importId: UUID  # noqa: N815 - as in the path
