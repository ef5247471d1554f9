"""Annotations as a writable resource."""

from typing import Any, Final

from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.resource import ResourceType
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.annotations.models import Annotation
from service_core.workspace.annotations.schemas import (
    AnnotationAnswer,
    AnnotationPatch,
    AnnotationsQuery,
    NewAnnotation,
)
from service_core.workspace.validation import load_saved_serializer, validate_text

MAX_TEXT_LENGTH: Final = 200
_OPTIONAL_FIELD: Final = "time"


async def create_annotation(new: NewAnnotation, write: WriteContext[None]) -> Annotation:
    """Note what happened on a day, such as a release or a sale. Charts of the application mark it."""
    fields = {"text": new.text, "date": new.date, "time": new.time, "visibility": new.visibility}
    return _validated_annotation(Annotation(**write.new_fields(), **fields))


async def update_annotation(
    annotation: Annotation, patch: AnnotationPatch, write: WriteContext[None]
) -> Annotation:
    """Change the fields sent. Only its creator can make an annotation private."""
    sent: dict[str, Any] = {
        "name" if name == "text" else name: value
        for name, value in sent_fields(patch).items()
        if value is not None or name == _OPTIONAL_FIELD
    }
    changed = _validated_annotation(annotation.with_fields(write.caller.now, **sent))
    if not changed.is_visible_to(write.caller):
        raise Unprocessable(
            "Only its creator can make an annotation private", "invalid_field", field="annotation.visibility"
        )
    return changed


def _validated_annotation(annotation: Annotation) -> Annotation:
    """Returns the annotation.

    Raises:
        Unprocessable: ``invalid_field``, for a text that is blank or too long.
    """
    validate_text("annotation.text", annotation.name, MAX_TEXT_LENGTH)
    return annotation


ANNOTATIONS: Final = resource(
    ResourceType(Annotation, Scope.WRITE_REPORTS, serializer=load_saved_serializer),
    "/annotations/{annotationId}",
    listing=Listing("Annotations, newest first; private ones of the caller only.", query=AnnotationsQuery),
    get="One annotation.",
    create=create_annotation,
    update=update_annotation,
    delete="Delete an annotation; an undo brings it back under its id.",
    answer=AnnotationAnswer,
    are_reads_aggregate=True,
)
