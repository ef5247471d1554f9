"""Refusals that resources of a workspace share: a check of a read, repeated on a write (contract 15.2)."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, Field

from service_core.access.models import Caller
from service_core.changes.resource import Resource
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest, Conflict, Unprocessable
from service_core.kernel.schemas import BodyModel
from service_core.kernel.timestamps import format_timestamp


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


class VersionedBody(BodyModel):
    """A change that is refused where somebody else made one meanwhile."""

    expected_updated_at: AwareDatetime | None = Field(
        None, description="`updated_at` as last read; another one is refused."
    )

    def changed_fields(self) -> dict[str, Any]:
        """The other fields of the request, those that were left out apart."""
        said = self.model_fields_set - VersionedBody.model_fields.keys()
        return {name: value for name, value in self if name in said}


def check_not_stale(record: Resource, expected: datetime | None) -> None:
    """Refuse a change by somebody who has not seen the latest one.

    Raises:
        Conflict: ``stale_update`` with ``current_updated_at``.
    """
    if expected is not None and expected != record.updated_at:
        raise Conflict(
            "The resource was changed since",
            "stale_update",
            hint="Read it again and repeat the change.",
            extra={"current_updated_at": format_timestamp(record.updated_at)},
        )
