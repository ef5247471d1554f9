"""Request and response models of share links."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from pydantic import Field

from service_core.access.models import RequestInterface
from service_core.changes.actor import Actor
from service_core.changes.pagination import ListQuery
from service_core.changes.schemas import DryRunBody
from service_core.kernel.schemas import BodyModel, ResponseModel
from service_core.workspace.share_links.models import ObjectType, ShareLink, ShareLinkStatus


class NewShareLink(BodyModel):
    """A link to create; without an expiry it is active until it is revoked."""

    object_type: ObjectType
    object_id: UUID
    expires_at: str | None = Field(None, description="A date, whole day included, or an instant.")
    expires_in_days: int | None = Field(None, description="1 to 365, instead of `expires_at`.")
    show_workspace_name: bool = Field(default=False, description="Whether it says whose it is.")
    allowed_ranges: list[str] = Field(
        default=[],
        description="Presets to choose from.",
    )
    embed_hosts: list[str] = Field(
        default=[],
        description="Hosts that may embed it.",
    )
    password: str | None = Field(None, description="8 to 256 characters.")


class ShareLinkPatch(BodyModel):
    """Fields to change; null takes the choice of ranges or the embedding hosts away."""

    show_workspace_name: bool | None = None
    allowed_ranges: list[str] | None = None
    embed_hosts: list[str] | None = None


class CreateShareLink(DryRunBody):
    """Body of `POST /share-links`."""

    share_link: NewShareLink


class ShareLinkQuery(ListQuery):
    """Parameters of `GET /share-links`."""

    object_type: ObjectType | None = None
    object_id: UUID | None = None
    status: ShareLinkStatus | None = None

    def filters_by_record_field(self) -> Mapping[str, str]:
        """Returns the filters of stored fields; an expired link is stored as active."""
        filters = dict(super().filters_by_record_field())
        if self.status is ShareLinkStatus.EXPIRED:
            filters["status"] = ShareLinkStatus.ACTIVE
        return filters

    def matches(self, record: ShareLink) -> bool:
        """Whether a link has the status asked for."""
        return self.status in (None, record.status)


class ShareLinkAnswer(ResponseModel):
    """A share link; only the response that created it has its URL."""

    id: UUID
    workspace_id: UUID
    object_type: ObjectType
    object_id: UUID
    object_name: str = Field(description="The object's name when it was shared.")
    status: ShareLinkStatus
    show_workspace_name: bool
    allowed_ranges: list[str]
    embed_hosts: list[str]
    has_password: bool
    view_count: int
    created_via: RequestInterface
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_viewed_at: datetime | None
    token_hint: str = Field(description="The last four characters of the token in its address.")
    created_by: Actor
