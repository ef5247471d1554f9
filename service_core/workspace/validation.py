"""Refusals that resources of a workspace share: a check of a read, repeated on a write (contract 15.2)."""

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
    """Refuse on a write what a read refuses as malformed: 422, with the place in the body.

    Args:
        where: what was checked, as a path of the body.
        otherwise: the code of the write.
        kept: codes that are the same on the write.
        is_field: nothing inside of ``where`` can be meant.

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
    """Refuse a range that means nothing.

    Raises:
        BadRequest: ``invalid_date_range``.
    """
    try:
        date_range.resolve(caller.workspace.zone, caller.now)
    except BadRequest as refusal:
        raise BadRequest(refusal.message, refusal.code, field=field) from None


def validate_text(field: str, text: str | None, max_length: int, *, min_length: int = 1) -> None:
    """Refuse a text that is blank or too long.

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
    """Returns how reports and analyses are shown: with `deleted_at`, which is null as a deleted one is never shown."""
    return lambda state: {**state, "deleted_at": None}
