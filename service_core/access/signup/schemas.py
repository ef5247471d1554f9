"""Request and response models of signup."""

import re
from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from service_core.access.key_requests.models import RequestStatus
from service_core.access.signup.create import (
    DEFAULT_PLAN,
)
from service_core.access.signup.models import SignupStatus
from service_core.access.text_types import SingleLineName, SingleLineText
from service_core.kernel.operations import (
    Scope,
)
from service_core.kernel.schemas import BodyModel, ResponseModel

_HOST: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,62}")


def host_of_bare_site_address_or_raise(host_or_url: str) -> str:
    """Returns the host of a site in lower case; raises `ValueError` for anything else than a host or its address."""
    host = host_or_url.lower().removeprefix("https://").removeprefix("http://").rstrip("/").rstrip(".")
    if not _HOST.fullmatch(host):
        raise ValueError("must be a host name")
    return host


class SignupKeyRequestBody(BodyModel):
    """A read key that is requested with the signup."""

    name: SingleLineName = Field(description="Name of the key.")
    scopes: list[str] = Field([Scope.READ.value], description="Only `service:read`.")
    reason: SingleLineText | None = Field(
        None, description="Reason for the request, for the person who pays."
    )


class SignupBody(BodyModel):
    """The requested workspace."""

    email: str = Field(description="Address of the person who will own the workspace.")
    name: SingleLineName | None = Field(None, description="Name of that person.")
    company: SingleLineName | None = None
    workspace_name: SingleLineName | None = Field(None, description="Name of the workspace.")
    domain: Annotated[SingleLineName, AfterValidator(host_of_bare_site_address_or_raise)] | None = Field(
        None, description="The main site."
    )
    timezone: SingleLineName = Field("UTC", description="IANA time zone of the workspace.")
    plan: SingleLineName = Field(DEFAULT_PLAN, description="Id of a billing plan.")
    key_request: SignupKeyRequestBody | None = None


class SignupKeyRequest(ResponseModel):
    """The key request made with the signup."""

    request_id: UUID
    status: RequestStatus


class SignupCreatedResponse(ResponseModel):
    """A signup that waits for payment. The secret is shown only in this response."""

    signup_id: UUID
    status: SignupStatus
    checkout_url: str
    signup_secret: str
    poll_url: str
    expires_at: datetime
    key_request: SignupKeyRequest | None


class VerificationSentResponse(ResponseModel):
    """The response of a deployment that verifies e-mail addresses first."""

    status: Literal["verification_sent"] = "verification_sent"


class SignupWorkspace(ResponseModel):
    """The workspace of a paid signup."""

    id: str
    name: str


class SignupStatusResponse(ResponseModel):
    """State of a signup."""

    signup_id: UUID
    status: SignupStatus
    workspace: SignupWorkspace | None
    next_steps: list[str]
    expires_at: datetime


class SignupPath(BodyModel):
    """Path parameters."""

    signup_id: UUID = Field(alias="signupId")


class WebhookReceivedResponse(ResponseModel):
    """The webhook was processed, or concerns no payment of this deployment."""

    received: bool = True
