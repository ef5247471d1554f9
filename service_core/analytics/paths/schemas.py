"""Request and response models of `GET /paths` and `GET /paths/sessions`."""

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias
from uuid import UUID

from pydantic import Field, field_validator, model_validator

from service_core.access.models import Caller
from service_core.analytics.range_query import RangeQuery, resolve_last_30_days
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.null_reasons import KNOWN_NULL
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

MAX_STEPS: Final = 5

NodeKind: TypeAlias = Literal["page", "event"]
Direction: TypeAlias = Literal["next", "previous"]
PathGroup: TypeAlias = Literal["other", "ended"]


class PathsRequest(RangeQuery):
    """Parameters of `GET /paths`; the default range is the last 30 local days."""

    required_params: ClassVar[tuple[str, ...]] = ("start",)
    start: str = Field(default="", description="Path of the chosen page, or name of the chosen event.")
    by: NodeKind = Field("page", description="What the steps are: pages viewed, or events.")
    direction: Direction = "next"
    steps: Annotated[int, Clamp(1, MAX_STEPS)] = 3
    top: Annotated[int, Clamp(1, 50)] = Field(
        10, description="Values of each step; others are counted as one."
    )
    through: tuple[str, ...] = Field(
        default=(), description="Values of the first steps, in order; repeats, or a JSON array."
    )
    segment_id: UUID | None = Field(
        default=None, description="A segment, whose filters the event of the chosen value meets."
    )

    @field_validator("through", mode="before")
    @classmethod
    def _split_through(cls, sent: Sequence[str]) -> tuple[str, ...]:
        return _parse_texts_and_json_arrays(sent)

    @model_validator(mode="after")
    def _refuse_no_start_or_more_values_than_steps(self) -> "PathsRequest":
        if not self.start:
            raise BadRequest("start is a page or an event", "invalid_parameter", field="start")
        if len(self.through) > self.steps:
            raise BadRequest("through has more values than steps", "invalid_parameter", field="through")
        return self

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the last 30 local days."""
        return resolve_last_30_days(caller)


class PathSessionsRequest(RowSelection, PathsRequest):
    """Parameters of `GET /paths/sessions`: those of the paths, the number that is opened, and the page."""

    step: Annotated[int, Clamp(0, MAX_STEPS)] = Field(
        0, description="Number of the step; 0 for all sessions."
    )
    value: str | None = Field(default=None, description="Value of the step; default any.")
    group: PathGroup | None = Field(
        default=None, description="Sessions with another value than the `top`, or without such a step."
    )
    limit: Annotated[int, Clamp(1, 1000)] = 50
    offset: Annotated[int, Clamp(0, 1_000_000_000)] = 0

    @model_validator(mode="after")
    def _refuse_unclear_step(self) -> "PathSessionsRequest":
        if self.step > self.steps:
            raise BadRequest(f"The paths have {self.steps} steps", "invalid_parameter", field="step")
        if self.value is not None and self.group is not None:
            raise BadRequest("Send value or group", "invalid_parameter", field="group")
        if not self.step and (self.value is not None or self.group is not None):
            raise BadRequest("Send the step of value or group", "invalid_parameter", field="step")
        return self


def _parse_texts_and_json_arrays(sent: Sequence[str]) -> tuple[str, ...]:
    """Returns the values of a repeated parameter; one that is a JSON array holds several.

    Raises:
        BadRequest: ``invalid_parameter``.
    """
    values: list[Any] = []
    for text in sent:
        values += _parse_json_array_or_bad_request(text) if text.lstrip().startswith("[") else [text]
    if not all(isinstance(value, str) and value for value in values):
        raise _invalid_through()
    return tuple(values)


def _parse_json_array_or_bad_request(text: str) -> list[Any]:
    try:
        parsed: list[Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise _invalid_through() from None
    return parsed


def _invalid_through() -> BadRequest:
    return BadRequest("through must contain texts", "invalid_parameter", field="through")


class PathNodeResponse(ResponseModel):
    """One value of a step; ``share`` is that of all sessions."""

    value: str
    sessions: int
    share: Annotated[Decimal | None, KNOWN_NULL]


class PathStepResponse(ResponseModel):
    """One step: the values of most sessions, all others as one, and the sessions that have no such step."""

    step: int
    values: list[PathNodeResponse]
    other_sessions: int
    other_values: int
    ended_sessions: int


class PathsResponse(ResponseModel):
    """What sessions do after, or before, the chosen page or event.

    The values of a step, ``other_sessions`` and ``ended_sessions`` add up to ``sessions``.
    """

    start: str
    by: NodeKind
    direction: Direction
    through: list[str]
    sessions: int
    steps: list[PathStepResponse]
    range: RangeResponse
    complete: bool


class PathSessionResponse(ResponseModel):
    """A session with the chosen page or event, and when it had it first."""

    user_id: str | None
    visitor_id: str
    session_id: str
    started_at: datetime


class PathSessionList(ResponseModel):
    """A page of sessions, latest first."""

    sessions: list[PathSessionResponse]
    total_count: int
    has_more: bool
    limit: int
    offset: int
    range: RangeResponse
    complete: bool
