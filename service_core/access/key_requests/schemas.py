"""Request and response models of key requests."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from service_core.access.key_requests.models import RequestStatus
from service_core.access.text_types import SingleLineName, SingleLineText
from service_core.kernel.schemas import BodyModel, ResponseModel


class CreateKeyRequestBody(BodyModel):
    """The key that a program requests from a person."""

    name: SingleLineName = Field(description="Name of the key.")
    scopes: list[str] = Field(description="Requested scopes; the approval grants them.")
    reason: SingleLineText | None = Field(
        None, description="Reason for the request, for the person who decides."
    )
    client_name: SingleLineName | None = Field(None, description="Name of the program that requests the key.")


class KeyRequestResponse(ResponseModel):
    """A key request that waits for a decision."""

    request_id: UUID
    status: RequestStatus
    name: str
    scopes: list[str]
    approval_url: str
    poll_url: str
    expires_at: datetime
    poll_interval_seconds: int


class KeyRequestStatusResponse(ResponseModel):
    """State of a key request."""

    request_id: UUID
    status: RequestStatus
    name: str
    scopes: list[str]
    expires_at: datetime
    decided_at: datetime | None


class CollectedKeyResponse(KeyRequestStatusResponse):
    """The first response after the approval; it contains the key."""

    key: str
    key_id: UUID
    key_hint: str


class KeyRequestPath(BodyModel):
    """Path parameters."""

    request_id: UUID = Field(alias="requestId")


class CreateKeyBody(BodyModel):
    """The key that an access token is exchanged for."""

    name: SingleLineName = Field(description="Name of the key.")
    scopes: list[str] = Field(description="Scopes of the key, at most those of the token.")
    rate_limit: int | None = Field(
        None,
        description="Requests per 60 seconds, at most the plan's maximum; only an owner may set it.",
    )


class CreatedKeyResponse(ResponseModel):
    """A new key. Its value is shown only in this response."""

    id: UUID
    key: str
    key_hint: str
    name: str
    scopes: list[str]
    rate_limit: int
    created_at: datetime
