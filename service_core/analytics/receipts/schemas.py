"""Requests and answers of receipts."""

from datetime import date, datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.query.catalog import MetricUnit
from service_core.analytics.query.schemas import RefundBasis
from service_core.analytics.reads.query.schemas import QueryRequest
from service_core.kernel.as_of_request import AsOfRequest
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.null_reasons import KNOWN_NULL, LISTED_BY_OPERATION, UnavailableMetric
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import BodyModel, Clamp, ResponseModel


class ReceiptRequest(AsOfRequest, BodyModel):
    """Body of `POST /receipts`; `as_of` may stand in `plan`, too."""

    plan: QueryRequest = Field(description="A query as in `POST /query`; comparison and pages do not apply.")
    metric: str = Field(description="One of its metrics.")
    key: dict[str, str] = Field(
        default={},
        description="The cell: a value for dimensions of the plan, and `bucket` as the row has it. Empty for the total.",
    )

    @property
    def requested_as_of(self) -> datetime | None:
        """The instant that the request or its plan names."""
        return self.as_of or self.plan.as_of

    def without_as_of(self) -> Self:
        """Returns the request as it was sent at the instant."""
        return self.model_copy(update={"as_of": None, "plan": self.plan.without_as_of()})


class ReceiptPath(BaseModel):
    """Path of a receipt."""

    receiptId: str  # noqa: N815 - as in the path


class ReceiptRecordsQuery(AsOfRequest, RowSelection):
    """Parameters of `GET /receipts/{receiptId}/records`."""

    limit: Annotated[int, Clamp(1, 1000)] = 100
    cursor: str | None = None


class ReceiptDefinition(ResponseModel):
    """The definition of the metric that counted."""

    metric: str
    version: int = Field(description="Raised when what is counted or computed changes.")
    text: str
    formula: str = Field(description="An expression of the names of terms.")


class CurrencyAmount(ResponseModel):
    """A sum of the amounts in one currency."""

    currency: str
    amount: float | int = Field(description="In whole units of the currency, not in cents.")


class ReceiptTerm(ResponseModel):
    """One term of the formula."""

    name: str
    value: Annotated[float | int | None, LISTED_BY_OPERATION] = Field(
        description="Null if amounts of other currencies have no exchange rate; then `amounts` has the sums."
    )
    amounts: list[CurrencyAmount] = Field(
        description="The sum in each currency where `value` is null, as amounts of several currencies do not add up."
    )
    text: str = Field(description="What it counts, with every condition.")


class CountedRecords(ResponseModel):
    """How many records count, and the digest of their canonical texts in order."""

    records: int
    digest: str


class LeftOutRecords(ResponseModel):
    """How many records of a term do not count for a reason."""

    term: str
    reason: str = Field(description="Such as `bot`, `test`, `no_visit`, `duplicate_order`.")
    records: int


class AppliedRate(ResponseModel):
    """An exchange rate by which records were converted."""

    currency: str
    date: date
    rate: float = Field(description="Units of the workspace's currency for one unit.")
    source: str


class ReceiptFilter(ResponseModel):
    """A condition on a dimension, with those of segment and key."""

    dimension: str
    op: str
    value: Any


class ResolvedReceipt(ResponseModel):
    """The query of the number with all defaults."""

    workspace: str = Field(description="Public id of the workspace.")
    date_range: RangeResponse
    bucket: datetime | None
    timezone: str
    currency: str
    filters: list[ReceiptFilter]
    attribution: Annotated[AttributionSettings | None, KNOWN_NULL]
    refund_basis: RefundBasis
    include_bots: bool


class Receipt(ResponseModel):
    """How a number was made."""

    id: str = Field(description="Digest of the receipt without `id` and `records_url`.")
    value: Annotated[float | int | None, LISTED_BY_OPERATION]
    unit: MetricUnit
    decimals: int = Field(description="Decimals that the value is rounded to, half-even.")
    definition: ReceiptDefinition
    resolved: ResolvedReceipt
    terms: list[ReceiptTerm]
    counted: CountedRecords
    left_out: list[LeftOutRecords]
    fx: list[AppliedRate]
    unavailable: list[UnavailableMetric]
    as_of: datetime
    records_url: str


class ReceiptRecordPage(ResponseModel):
    """A page of the records that count, each with the name of its term and its contribution."""

    records: list[dict[str, Any]]
    total_count: int
    digest: str = Field(description="Digest of all records as they are now.")
    unchanged: bool = Field(description="Whether these are the records that the receipt counted.")
    next_cursor: str | None
