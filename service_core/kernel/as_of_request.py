"""The parameter ``as_of``, declared once for every read over a range."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field


def _parse_instant(sent: Any) -> Any:
    """Returns the instant of an ISO 8601 text; query strings decode the ``+`` of an offset as a space."""
    if not isinstance(sent, str):
        return sent
    return datetime.fromisoformat(sent.strip().replace(" ", "+"))


class AsOfRequest(BaseModel):
    """Query parameters or a body that may name an earlier instant."""

    as_of: Annotated[AwareDatetime | None, BeforeValidator(_parse_instant)] = Field(
        default=None, description="An earlier instant: the answer as it was given then."
    )

    @property
    def requested_as_of(self) -> datetime | None:
        """The instant that the request names."""
        return self.as_of

    def without_as_of(self) -> Self:
        """Returns the request as it was sent at the instant."""
        return self.model_copy(update={"as_of": None})


def find_requested_as_of(handler_arguments: Mapping[str, Any]) -> datetime | None:
    """Returns the instant that query or body name; None for the present."""
    requests = (value for value in handler_arguments.values() if isinstance(value, AsOfRequest))
    return next((request.requested_as_of for request in requests if request.requested_as_of), None)


def arguments_without_as_of(handler_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a handler that is asked at the instant itself."""
    return {
        name: value.without_as_of() if isinstance(value, AsOfRequest) else value
        for name, value in handler_arguments.items()
    }
