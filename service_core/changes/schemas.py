"""Request and response models of the audit log and of dry runs."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.changes.audit_log import AuditEntry
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import BodyModel, Clamp, QueryModel, ResponseModel

DryRun = Annotated[bool | None, Field(description="Show the change without making it.")]


class DryRunBody(BodyModel):
    """The ``dry_run`` field of a request body."""

    dry_run: DryRun = None


class DryRunQuery(QueryModel):
    """The ``dry_run`` parameter of requests without a body."""

    dry_run: DryRun = None


class AuditQuery(RowSelection):
    """Parameters of `GET /audit`."""

    limit: Annotated[int, Clamp(1, 200)] = 50
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")
    resource_type: str | None = None
    resource_id: UUID | None = None
    actor_id: UUID | None = None
    client_id: str | None = Field(None, pattern=r"^[^\x00]+$")
    key_id: UUID | None = None
    created_via: Literal["api", "mcp", "dashboard"] | None = None
    since: str | None = Field(None, description="A date or timestamp, as is until.")
    until: str | None = None


class AuditPage(ResponseModel):
    """Applied changes, newest first."""

    entries: list[AuditEntry]
    next_cursor: str | None


class AuditPath(BaseModel):
    """Path parameters."""

    auditId: UUID  # noqa: N815 - as in the path
