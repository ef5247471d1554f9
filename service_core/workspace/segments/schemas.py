"""Request and response models of segments."""

from pydantic import Field

from service_core.analytics.query.schemas import FilterBody
from service_core.changes.optimistic_locking import VersionedBody
from service_core.kernel.schemas import BodyModel
from service_core.workspace.segments.models import Segment, Visibility


class NewSegment(BodyModel):
    """A segment to create."""

    name: str
    filters: list[FilterBody] = Field(description="1 to 10, joined by AND, as those of `/query`.")
    visibility: Visibility = Field("workspace", description="`private` for its creator only.")


class SegmentPatch(VersionedBody):
    """Fields to change."""

    name: str | None = None
    filters: list[FilterBody] | None = Field(None, description="1 to 10; they replace the former ones.")
    visibility: Visibility | None = None


class SegmentAnswer(Segment):
    """A segment."""

    deleted_at: None = Field(description="Null: a deleted segment is not found.")
