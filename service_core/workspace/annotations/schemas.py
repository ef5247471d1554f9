"""Request and response models of annotations."""

import datetime as dt
from typing import Any

from pydantic import Field

from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.pagination import ListQuery
from service_core.kernel.schemas import BodyModel
from service_core.workspace.annotations.models import TIME_PATTERN, Annotation, Visibility


class NewAnnotation(BodyModel):
    """An annotation to create."""

    text: str = Field(description="What happened; 1 to 200 characters.")
    date: dt.date = Field(description="Day in the time zone of the workspace, as `2026-07-01`.")
    time: str | None = Field(
        None, pattern=TIME_PATTERN, description="Time of that day, as `14:30`; null for the whole day."
    )
    visibility: Visibility = Field("workspace", description="`private` for its creator only.")


class AnnotationPatch(VersionedBody):
    """Fields to change."""

    text: str | None = None
    date: dt.date | None = None
    time: str | None = Field(None, pattern=TIME_PATTERN, description="Null for the whole day.")
    visibility: Visibility | None = None


class AnnotationsQuery(ListQuery):
    """Parameters of `GET /annotations`."""

    start_date: dt.date | None = Field(None, description="Only annotations of this day and later ones.")
    end_date: dt.date | None = Field(None, description="Only annotations of this day and earlier ones.")

    def filters_by_record_field(self) -> dict[str, str]:
        """Returns no filters: days are compared by `matches`."""
        return {}

    def matches(self, record: Any) -> bool:
        """Returns whether the day of an annotation is within the range."""
        return (self.start_date is None or record.date >= self.start_date) and (
            self.end_date is None or record.date <= self.end_date
        )


class AnnotationAnswer(Annotation):
    """An annotation."""

    deleted_at: None = Field(description="Null: a deleted annotation is not found.")
