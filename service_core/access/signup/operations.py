"""Endpoints for signup, its polling, and webhooks of the checkout."""

import re
from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from service_core.access.email_addresses import normalize_email
from service_core.access.key_authentication import invalid_api_key_error
from service_core.access.key_requests.models import RequestStatus
from service_core.access.models import AnonymousCaller, SignupCaller
from service_core.access.public_urls import PublicUrls
from service_core.access.signup.create import (
    DEFAULT_PLAN,
    CreatedSignup,
    RequestedKey,
    SignupCreator,
    SignupInput,
)
from service_core.access.signup.models import CheckoutWebhook, Signup, SignupStatus
from service_core.access.signup.payments import SignupPayments
from service_core.access.signup.ports import SignupLookup, Signups
from service_core.access.text_types import SingleLineName, SingleLineText
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import (
    ANY_SCOPE,
    CredentialRequirement,
    RateLimitClass,
    RoutePrefix,
    Scope,
    operation,
)
from service_core.kernel.schemas import BodyModel, ResponseModel

_HOST: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{1,62}")

NEXT_STEPS: Final = {
    SignupStatus.PENDING: ["Open the checkout link and pay; ask again until the status is paid."],
    SignupStatus.PAID: [
        "Approve the key on the page shown after payment, or ask for one with POST /keys/requests.",
        "Choose a password by the mailed link, and make a write key in the settings.",
        "Send the first event with the write key.",
    ],
    SignupStatus.EXPIRED: ["Sign up again: this signup was not paid in time."],
    SignupStatus.CANCELED: ["Sign up again: the checkout was canceled."],
}
"""What the person does next, in order."""


def _validate_host(text: str) -> str:
    host = text.lower().removeprefix("https://").removeprefix("http://").rstrip("/").rstrip(".")
    if len(host) > 253 or not _HOST.fullmatch(host):  # noqa: PLR2004 - the longest name of a host
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
    domain: Annotated[SingleLineName, AfterValidator(_validate_host)] | None = Field(
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


@operation(
    "POST /signup",
    scope=None,
    rate_limit=RateLimitClass.NONE,
    tag="signup",
    statuses=(202,),
    errors=(404, 429, 503),
)
async def sign_up(
    body: SignupBody, *, caller: AnonymousCaller, applications: SignupCreator, places: PublicUrls
) -> SignupCreatedResponse | VerificationSentResponse:
    """Record a signup and offer its checkout.

    No account, workspace or key exists before a person has paid. The answer is the same whether or
    not the address is known.
    """
    applied = await applications.create_signup(_build_signup_input(body), caller.client_ip)
    return VerificationSentResponse() if applied is None else _created_response(applied, places)


@operation("GET /signup/{signupId}", scope=ANY_SCOPE, credential=CredentialRequirement.SIGNUP, tag="signup")
async def get_signup(
    path: SignupPath,
    *,
    caller: SignupCaller,
    signups: Signups,
    settlement: SignupPayments,
    workspaces: WorkspaceCache,
) -> SignupStatusResponse:
    """Poll a signup with its secret, until its status is ``paid``."""
    signup = await signups.find_signup(SignupLookup.ID, path.signup_id.hex)
    if signup is None or signup.id != caller.signup_id:
        raise invalid_api_key_error()
    current = await settlement.refresh_payment(signup)
    status = current.status_at(caller.now)
    return SignupStatusResponse(
        signup_id=current.id,
        status=status,
        workspace=await _signup_workspace(current, workspaces),
        next_steps=NEXT_STEPS[status],
        expires_at=current.expires_at,
    )


@operation(
    "POST /checkout/notices",
    scope=None,
    rate_limit=RateLimitClass.NONE,
    prefix=RoutePrefix.ROOT,
    tag="signup",
    errors=(403, 503),
)
async def receive_payment_notice(
    raw: bytes, *, caller: AnonymousCaller, settlement: SignupPayments
) -> WebhookReceivedResponse:
    """Receive a webhook of the checkout. Its signature is verified over the unchanged body."""
    await settlement.receive_webhook(CheckoutWebhook(raw, caller.headers, caller.now))
    return WebhookReceivedResponse()


def _build_signup_input(body: SignupBody) -> SignupInput:
    wish = body.key_request
    if wish is not None and wish.scopes != [Scope.READ.value]:
        raise BadRequest("Only a key to read can ride along", "invalid_parameter", field="key_request.scopes")
    email = normalize_email(body.email)
    return SignupInput(
        email=email,
        name=body.name,
        company=body.company,
        workspace_name=body.workspace_name,
        domain=body.domain,
        timezone=body.timezone,
        plan=body.plan,
        requested_key=None if wish is None else RequestedKey(wish.name, wish.reason or None),
    )


def _created_response(applied: CreatedSignup, places: PublicUrls) -> SignupCreatedResponse:
    request = applied.key_request
    return SignupCreatedResponse(
        signup_id=applied.signup.id,
        status=SignupStatus.PENDING,
        checkout_url=applied.checkout_url,
        signup_secret=applied.secret,
        poll_url=places.poll_url("signup", applied.signup.id),
        expires_at=applied.signup.expires_at,
        key_request=SignupKeyRequest(request_id=request.id, status=request.status) if request else None,
    )


async def _signup_workspace(signup: Signup, workspaces: WorkspaceCache) -> SignupWorkspace | None:
    workspace = await workspaces.find_by_id(signup.workspace_id) if signup.workspace_id else None
    return SignupWorkspace(id=workspace.public_id, name=workspace.name) if workspace else None


OPERATIONS = (sign_up, get_signup, receive_payment_notice)
