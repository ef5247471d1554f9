"""Stored segments."""

from typing import ClassVar, Literal

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.query.schemas import FilterBody
from service_core.changes.actor import build_actor
from service_core.changes.resource import Resource

Visibility = Literal["private", "workspace"]


class Segment(Resource):
    """A stored segment: filters with a name, for everybody in the workspace or for its creator alone."""

    resource_type: ClassVar[str] = "segment"

    visibility: Visibility = Field(description="`private` for its creator only.")
    filters: tuple[FilterBody, ...] = Field(description="Joined by AND.")

    def is_visible_to(self, caller: Caller) -> bool:
        """Returns whether a caller can read and use the segment: everybody, or the person or key that created it."""
        actor = build_actor(caller)
        is_creator = (actor.type, actor.id) == (self.created_by.type, self.created_by.id)
        return self.visibility == "workspace" or is_creator
