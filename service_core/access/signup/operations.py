"""Endpoints for signup, its polling, and webhooks of the checkout."""

from typing import Final

from service_core.access.email_addresses import normalize_or_reject_email
from service_core.access.key_authentication import invalid_api_key_error
from service_core.access.models import AnonymousCaller, SignupCaller
from service_core.access.public_urls import PublicUrls
from service_core.access.signup.create import (
    CreatedSignup,
    RequestedKey,
    SignupCreator,
    SignupInput,
)
from service_core.access.signup.models import CheckoutWebhook, Signup, SignupStatus
from service_core.access.signup.payments import SignupPayments
from service_core.access.signup.ports import SignupLookup, Signups
from service_core.access.signup.schemas import (
    SignupBody,
    SignupCreatedResponse,
    SignupKeyRequest,
    SignupPath,
    SignupStatusResponse,
    SignupWorkspace,
    VerificationSentResponse,
    WebhookReceivedResponse,
)
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
"""Next steps of the person, in order."""


@operation(
    "POST /signup",
    scope=None,
    rate_limit=RateLimitClass.NONE,
    tag="signup",
    statuses=(202,),
    errors=(404, 429, 503),
)
async def sign_up(
    body: SignupBody, *, caller: AnonymousCaller, creator: SignupCreator, public_urls: PublicUrls
) -> SignupCreatedResponse | VerificationSentResponse:
    """Record a signup and offer its checkout.

    No account, workspace or key exists before a person has paid. The answer is the same whether or
    not the address is known.
    """
    created = await creator.create_checkout_or_send_verification(
        _signup_input_with_read_key_only(body), caller.client_ip
    )
    return VerificationSentResponse() if created is None else _signup_created_response(created, public_urls)


@operation("GET /signup/{signupId}", scope=ANY_SCOPE, credential=CredentialRequirement.SIGNUP, tag="signup")
async def get_signup(
    path: SignupPath,
    *,
    caller: SignupCaller,
    signups: Signups,
    payments: SignupPayments,
    workspaces: WorkspaceCache,
) -> SignupStatusResponse:
    """Poll a signup with its secret, until its status is ``paid``."""
    signup = await signups.find_signup(SignupLookup.ID, path.signup_id.hex)
    if signup is None or signup.id != caller.signup_id:
        raise invalid_api_key_error()
    current = await payments.poll_pending_payment_once_per_10_seconds(signup)
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
    raw: bytes, *, caller: AnonymousCaller, payments: SignupPayments
) -> WebhookReceivedResponse:
    """Receive a webhook of the checkout. Its signature is verified over the unchanged body."""
    await payments.verify_and_record_webhook(CheckoutWebhook(raw, caller.headers, caller.now))
    return WebhookReceivedResponse()


def _signup_input_with_read_key_only(body: SignupBody) -> SignupInput:
    requested_key = body.key_request
    if requested_key is not None and requested_key.scopes != [Scope.READ.value]:
        raise BadRequest("Only a key to read can ride along", "invalid_parameter", field="key_request.scopes")
    email = normalize_or_reject_email(body.email)
    return SignupInput(
        email=email,
        name=body.name,
        company=body.company,
        workspace_name=body.workspace_name,
        domain=body.domain,
        timezone=body.timezone,
        plan=body.plan,
        requested_key=None
        if requested_key is None
        else RequestedKey(requested_key.name, requested_key.reason or None),
    )


def _signup_created_response(created: CreatedSignup, public_urls: PublicUrls) -> SignupCreatedResponse:
    request = created.key_request
    return SignupCreatedResponse(
        signup_id=created.signup.id,
        status=SignupStatus.PENDING,
        checkout_url=created.checkout_url,
        signup_secret=created.secret,
        poll_url=public_urls.poll_url("signup", created.signup.id),
        expires_at=created.signup.expires_at,
        key_request=SignupKeyRequest(request_id=request.id, status=request.status) if request else None,
    )


async def _signup_workspace(signup: Signup, workspaces: WorkspaceCache) -> SignupWorkspace | None:
    workspace = await workspaces.find_by_id(signup.workspace_id) if signup.workspace_id else None
    return SignupWorkspace(id=workspace.public_id, name=workspace.name) if workspace else None


OPERATIONS = (sign_up, get_signup, receive_payment_notice)
