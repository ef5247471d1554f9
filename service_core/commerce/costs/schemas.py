"""Response models of cost imports."""

from uuid import UUID

from pydantic import Field

from service_core.commerce.costs.validate_import import RejectReason
from service_core.kernel.schemas import ResponseModel


class RejectedRow(ResponseModel):
    """A row that is not taken."""

    row: int = Field(description="Its number; the first row is 1, without the header of a file.")
    reason: RejectReason


class CostImportCheck(ResponseModel):
    """Effect of an import that was not applied."""

    valid: bool = Field(description="Whether every row is accepted.")
    row_count: int
    accepted: int
    rejected: int
    errors: list[RejectedRow]
    import_hash: str = Field(description="Send it with the same body to apply it.")


class CostImportResult(ResponseModel):
    """Result of an import."""

    applied: bool
    import_id: UUID = Field(description="The same whenever the same import is applied.")
    rows_applied: int
