"""Segments as a writable resource."""

from typing import Any, Final

from service_core.access.models import Caller
from service_core.analytics.query import schemas
from service_core.analytics.query.catalog import Catalog
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.pagination import ListQuery
from service_core.changes.resource import ResourceType
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.segments.models import Segment
from service_core.workspace.segments.schemas import NewSegment, SegmentAnswer, SegmentPatch
from service_core.workspace.validation import (
    bad_request_as_unprocessable,
    load_saved_serializer,
    validate_text,
)

MAX_NAME_LENGTH: Final = 120


def catalog_for_validation(
    body: NewSegment | SegmentPatch,  # noqa: ARG001 - as `resource` calls it
    *,
    caller: Caller,  # noqa: ARG001 - likewise
    catalog: Catalog,
) -> Catalog:
    """Returns the catalog that filters are checked with."""
    return catalog


async def create_segment(new: NewSegment, write: WriteContext[Catalog]) -> Segment:
    """Save filters under a name. A read that takes `segment_id` applies them beside its own."""
    fields = {"name": new.name, "filters": tuple(new.filters), "visibility": new.visibility}
    return _validated_segment(Segment(**write.new_fields(), **fields), write.prepared)


async def update_segment(segment: Segment, patch: SegmentPatch, write: WriteContext[Catalog]) -> Segment:
    """Change the fields sent. Only its creator can make a segment private."""
    sent: dict[str, Any] = {name: value for name, value in sent_fields(patch).items() if value is not None}
    changed = _validated_segment(segment.with_fields(write.caller.now, **sent), write.prepared)
    if not changed.is_visible_to(write.caller):
        raise Unprocessable(
            "Only its creator can make a segment private", "invalid_field", field="segment.visibility"
        )
    return changed


def _validated_segment(segment: Segment, catalog: Catalog) -> Segment:
    """Returns the segment.

    Raises:
        Unprocessable: ``invalid_field`` for the name or no filter, ``invalid_filter`` for a filter.
    """
    validate_text("segment.name", segment.name, MAX_NAME_LENGTH)
    if not segment.filters:
        raise Unprocessable("A segment has at least one filter", "invalid_filter", field="segment.filters")
    with bad_request_as_unprocessable("segment", "invalid_filter"):
        schemas.parse_filters_accepted_by_metrics(catalog, (), segment.filters)
    return segment


SEGMENTS: Final = resource(
    ResourceType(Segment, Scope.WRITE_REPORTS, serializer=load_saved_serializer),
    "/segments/{segmentId}",
    listing=Listing("Segments, newest first; private ones of the caller only.", query=ListQuery),
    get="One segment.",
    create=create_segment,
    update=update_segment,
    delete="Delete a segment; an undo brings it back under its id.",
    prepare=catalog_for_validation,
    answer=SegmentAnswer,
    are_reads_aggregate=True,
)
