"""Updates that are refused when somebody else changed the record since it was read."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, Field

from service_core.changes.resource import Resource
from service_core.kernel.errors import Conflict
from service_core.kernel.schemas import BodyModel
from service_core.kernel.timestamps import format_timestamp


class VersionedBody(BodyModel):
    """A request body that may name the version of the record it changes."""

    expected_updated_at: AwareDatetime | None = Field(
        None, description="`updated_at` as last read; another one is refused."
    )


def sent_fields(body: BodyModel) -> Mapping[str, Any]:
    """Returns the fields that the request sent, without the expected version."""
    names = body.model_fields_set - VersionedBody.model_fields.keys()
    return {name: value for name, value in body if name in names}


def check_not_stale(record: Resource, expected_updated_at: datetime | None) -> None:
    """Refuses a change of a record that was changed since the caller read it.

    Args:
        record: the stored record.
        expected_updated_at: the version the caller has read; None accepts any.

    Raises:
        Conflict: ``stale_update`` with ``current_updated_at``.
    """
    if expected_updated_at is not None and expected_updated_at != record.updated_at:
        raise Conflict(
            "The resource was changed since",
            "stale_update",
            hint="Read it again and repeat the change.",
            extra={"current_updated_at": format_timestamp(record.updated_at)},
        )
