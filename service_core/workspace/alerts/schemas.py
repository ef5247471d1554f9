"""Request and response models of alerts."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.analytics.query.schemas import FilterBody
from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.schemas import DryRunBody
from service_core.kernel.schemas import BodyModel, ResponseModel
from service_core.workspace.alerts.models import Alert, AlertCondition, AlertPeriod, AlertState, AlertStatus


class NewAlert(BodyModel):
    """An alert to create."""

    name: str = Field(description="1 to 120 characters.")
    metric_id: str = Field(description="Of the catalog.")
    filters: list[FilterBody] = Field(default_factory=list, description="At most 10, joined by AND.")
    period: AlertPeriod = "day"
    condition: AlertCondition = "unusual"
    value: float | None = Field(
        None, description="Of `above` and `below`: money in major units, rates as fractions."
    )
    recipients: list[str] = Field(
        default_factory=list, description="At most 20 addresses; of non-members once they have confirmed."
    )
    webhook_url: str | None = Field(None, description="An https address of a public host.")
    active: bool = True


class AlertPatch(VersionedBody):
    """Fields to change."""

    name: str | None = None
    filters: list[FilterBody] | None = None
    period: AlertPeriod | None = None
    condition: AlertCondition | None = None
    value: float | None = None
    recipients: list[str] | None = None
    webhook_url: str | None = Field(None, description="Null for none.")
    active: bool | None = None


class AlertCheck(ResponseModel):
    """Result of the latest check."""

    status: AlertStatus = Field(
        description="`unknown` if it could not be checked; it is no alert and no all-clear."
    )
    checked_at: datetime
    checked_period: datetime = Field(description="Beginning of the day or week.")
    value: float | None
    low: float | None = Field(description="Lower end of the expected range.")
    high: float | None
    reason: str | None = Field(description="Why it could not be checked.")

    @classmethod
    def from_state(cls, state: AlertState) -> "AlertCheck":
        """Returns the result of a check."""
        return cls(**{name: getattr(state, name) for name in cls.model_fields})


class AlertAnswer(Alert):
    """An alert."""

    check: AlertCheck | None = Field(description="Null before the first check.")
    deleted_at: None = Field(description="Null: a deleted alert is not found.")


class AlertPath(BaseModel):
    """Path parameters."""

    alertId: UUID  # noqa: N815 - as in the path


class RotateSecretBody(DryRunBody):
    """Body of `POST /alerts/{alertId}/webhook-secret`."""
