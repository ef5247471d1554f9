"""Request and response models of trackable links."""

from typing import Any, Final, Literal
from uuid import UUID

from pydantic import Field

from service_core.kernel.schemas import BodyModel
from service_core.workspace.links.models import Target, TrackingLink

IMMUTABLE_FIELDS: Final = frozenset({"tracking_identifier", "slug", "domain_id", "target"})


class NewLink(BodyModel):
    """A link to create. With a domain or a slug it redirects; if only one of them is sent, the other is chosen."""

    name: str
    destination_url: str
    domain_id: UUID | None = Field(
        None, description="The shared link domain, or one that the workspace has verified."
    )
    slug: str | None = None
    target: Target = "web"
    ios_url: str | None = None
    android_url: str | None = None
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None


class LinkPatch(BodyModel):
    """Fields to change; null or an empty text clears an optional one."""

    name: str | None = None
    destination_url: str | None = None
    ios_url: str | None = None
    android_url: str | None = None
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None
    tracking_identifier: Any = Field(None, description="Refused: it never changes.")
    slug: Any = Field(None, description="Refused: it never changes.")
    domain_id: Any = Field(None, description="Refused: it never changes.")
    target: Any = Field(None, description="Refused: it never changes.")


class LinkAnswer(TrackingLink):
    """A trackable link."""

    kind: Literal["redirect", "direct"]
    url: str | None = Field(description="What to publish; null when the domain is not set up any more.")
    clicks: int | None = Field(
        description="Clicks of people; null for a direct link, whose clicks are not seen."
    )
    unique_clicks: int | None = Field(
        description="The first of each visitor and hour; null for a direct link."
    )
