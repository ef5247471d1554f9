"""Stored e-mail reports."""

from typing import ClassVar, Final, Literal
from uuid import UUID

from pydantic import Field

from service_core.changes.resource import Resource

EmailedObjectType = Literal["report", "dashboard"]
Frequency = Literal["weekly", "monthly"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: Final[tuple[Weekday, ...]] = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
MAX_DAY_OF_MONTH: Final = 28
"""Every month has this day."""


class EmailReport(Resource):
    """A stored e-mail report: what is sent, when and to whom; its name is the subject."""

    resource_type: ClassVar[str] = "email_report"

    name: str = Field(description="Subject of the e-mails.")
    object_type: EmailedObjectType
    object_id: UUID = Field(description="Id of the report or dashboard.")
    frequency: Frequency
    weekday: Weekday | None = Field(description="Of weekly e-mails; null for monthly ones.")
    day_of_month: int | None = Field(description="Of monthly e-mails, 1 to 28; null for weekly ones.")
    hour: int = Field(description="0 to 23, in the time zone of the workspace.")
    recipients: tuple[str, ...] = Field(description="E-mail addresses.")
    active: bool = Field(description="False while it is paused.")
