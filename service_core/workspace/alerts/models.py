"""Stored alerts, and the state that their checks leave."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal
from uuid import UUID

from pydantic import Field

from service_core.access.models import Workspace
from service_core.analytics.query.schemas import FilterBody
from service_core.changes.resource import Resource
from service_core.workspace.notifications.webhook_secrets import derive_webhook_secret

AlertCondition = Literal["above", "below", "unusual"]
AlertPeriod = Literal["day", "week"]


class Alert(Resource):
    """A stored alert: the metric that is checked, when it is reported, and to whom."""

    resource_type: ClassVar[str] = "alert"

    metric_id: str
    filters: tuple[FilterBody, ...] = Field(description="Joined by AND.")
    period: AlertPeriod = Field(description="The metric is checked over each complete local day or week.")
    condition: AlertCondition = Field(
        description="`above` or `below` `value`, or `unusual`: outside the expected range."
    )
    value: float | None = Field(
        description="Of `above` and `below`, as `POST /query` answers the metric: money in major units of the "
        "workspace's currency, rates as fractions, durations in seconds."
    )
    recipients: tuple[str, ...] = Field(description="E-mail addresses.")
    webhook_url: str | None
    webhook_version: int = Field(description="Number of the present signing secret.")
    active: bool = Field(description="False while it is paused.")


class AlertStatus(StrEnum):
    """Result of the latest check."""

    OK = "ok"
    FIRING = "firing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertState:
    """What the latest check of an alert found.

    Attributes:
        checked_period: beginning of the day or week that was checked.
        is_firing: whether the latest known result was outside the range; an unknown one leaves it as it was.
        value: of the metric; None if it is unknown.
        low, high: the expected range; None where it has no such end.
        reason: why the metric could not be checked.
    """

    alert_id: UUID
    status: AlertStatus
    checked_at: datetime
    checked_period: datetime
    is_firing: bool = False
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def alert_webhook_secret(workspace: Workspace, alert: Alert) -> str:
    """Returns the secret that signs the webhooks of an alert."""
    return derive_webhook_secret(workspace, "alert", alert.id, alert.webhook_version)
