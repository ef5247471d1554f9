"""Validation that several resources of a workspace share."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from service_core.access.models import Caller
from service_core.changes.resource import RecordReader, Resource, Serializer
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest, Unprocessable


@contextmanager
def bad_request_as_unprocessable(
    field: str, code: str, kept_codes: Collection[str] = (), *, ignore_subfield: bool = False
) -> Iterator[None]:
    """Raises 422 in place of 400 for a check that a read and a write share, with the field of the body.

    Args:
        field: path of the checked value in the body.
        code: error code of the write.
        kept_codes: codes of the read that the write keeps.
        ignore_subfield: the error names ``field`` itself, not a field within it.

    Raises:
        Unprocessable: in place of a `BadRequest`.
    """
    try:
        yield
    except BadRequest as refusal:
        raise Unprocessable(
            refusal.message,
            refusal.code if refusal.code in kept_codes else code,
            field=field if ignore_subfield or not refusal.field else f"{field}.{refusal.field}",
            hint=refusal.hint or f"A read refuses it with the code {refusal.code}.",
        ) from None


def validate_date_range(date_range: DateRange, caller: Caller, field: str) -> None:
    """Refuses an invalid date range.

    Raises:
        BadRequest: ``invalid_date_range``.
    """
    try:
        date_range.resolve(caller.workspace.zone, caller.now)
    except BadRequest as refusal:
        raise BadRequest(refusal.message, refusal.code, field=field) from None


def validate_text(field: str, text: str | None, max_length: int, *, min_length: int = 1) -> None:
    """Refuses a text that is blank, too short or too long.

    Raises:
        Unprocessable: ``invalid_field``.
    """
    length = len((text or "").strip()) and len(text or "")
    if not min_length <= length <= max_length:
        raise Unprocessable(
            f"{field.rpartition('.')[2]} has {min_length} to {max_length} characters",
            "invalid_field",
            field=field,
        )


async def load_saved_serializer(records: RecordReader, resources: Sequence[Resource]) -> Serializer:  # noqa: ARG001 - as `ResourceType.serializer`
    """Returns how reports and analyses are shown: with a `deleted_at` of null, as deleted ones are not shown."""
    return lambda state: {**state, "deleted_at": None}
