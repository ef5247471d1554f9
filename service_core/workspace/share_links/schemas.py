"""What requests say of a share link."""

from uuid import UUID

from pydantic import Field

from service_core.changes.operations import DryRunBody
from service_core.changes.pagination import ListQuery
from service_core.kernel.schemas import BodyModel
from service_core.workspace.share_links.models import ObjectType, ShareLinkStatus


class NewShareLink(BodyModel):
    """A link to make; without an expiry it works until it is revoked."""

    object_type: ObjectType
    object_id: UUID
    expires_at: str | None = Field(None, description="A date, its whole day included, or an instant.")
    expires_in_days: int | None = Field(None, description="1 to 365, instead of `expires_at`.")
    show_workspace_name: bool = Field(default=False, description="Whether the page says whose it is.")


class CreateShareLink(DryRunBody):
    """Body of `POST /share-links`."""

    share_link: NewShareLink


class ShareLinkQuery(ListQuery):
    """Parameters of `GET /share-links`."""

    object_type: ObjectType | None = None
    object_id: UUID | None = None
    status: ShareLinkStatus | None = None
