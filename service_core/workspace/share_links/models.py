"""Stored share links. The token itself is never stored."""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal, Self
from uuid import UUID

from pydantic import Field

from service_core.changes.resource import MillisecondDatetime, Resource

ObjectType = Literal["report", "dashboard", "analysis"]
"""The types of objects that can be shared."""


class ShareLinkStatus(StrEnum):
    """Status of a link. ``expired`` is derived from the time and not stored."""

    ACTIVE = "active"
    REVOKED = "revoked"
    EXPIRED = "expired"


class ShareLink(Resource):
    """A link to the public page of one object.

    Attributes:
        name: the object's name when it was shared.
        digest: SHA-256 of the token; the token itself is never kept.
        token_hint: its last four characters.
        allowed_ranges: presets that a reader may choose instead of the saved range.
        embed_hosts: hosts whose pages may show the public page in a frame.
        password_hash: hash of the password of the page; None for a page without one.
    """

    resource_type: ClassVar[str] = "share_link"
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"digest", "password_hash"})

    name: str = Field(alias="object_name")
    object_type: ObjectType
    object_id: UUID
    status: ShareLinkStatus = ShareLinkStatus.ACTIVE
    show_workspace_name: bool
    expires_at: MillisecondDatetime | None
    revoked_at: MillisecondDatetime | None = None
    token_hint: str
    digest: str
    allowed_ranges: tuple[str, ...] = ()
    embed_hosts: tuple[str, ...] = ()
    has_password: bool = False
    password_hash: str | None = None

    def unique_keys(self) -> tuple[str, ...]:
        """Returns the key of its token, by which the page is found."""
        return (share_token_key(self.digest),)

    def as_of(self, now: datetime) -> Self:
        """Returns the link with its status at an instant."""
        over = self.expires_at is not None and self.expires_at <= now
        if self.status is ShareLinkStatus.ACTIVE and over:
            return self.model_copy(update={"status": ShareLinkStatus.EXPIRED})
        return self


def share_token_key(digest: str) -> str:
    """Returns the unique key of a token's digest."""
    return f"share:{digest}"
