"""Stored annotations."""

import datetime as dt
from typing import ClassVar, Final, Literal

from pydantic import Field

from service_core.access.models import Caller
from service_core.changes.actor import build_actor
from service_core.changes.resource import Resource

Visibility = Literal["private", "workspace"]


TIME_PATTERN: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
"""A time of day as ``14:30``."""


class Annotation(Resource):
    """A stored annotation, for everybody in the workspace or for its creator alone; its name is called text."""

    resource_type: ClassVar[str] = "annotation"

    name: str = Field(alias="text", description="What happened.")
    date: dt.date = Field(description="Day in the time zone of the workspace.")
    time: str | None = Field(description="Time of that day, as `14:30`; null for the whole day.")
    visibility: Visibility = Field(description="`private` for its creator only.")

    def is_visible_to(self, caller: Caller) -> bool:
        """Returns whether a caller can read the annotation: everybody, or the person or key that created it."""
        actor = build_actor(caller)
        is_creator = (actor.type, actor.id) == (self.created_by.type, self.created_by.id)
        return self.visibility == "workspace" or is_creator
