"""``POST /signup``, its poll, and the notices of the checkout (contract 7.1)."""

import re
from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from service_core.access.addresses import email_of
from service_core.access.authenticate import refused
from service_core.access.model import Applicant, Stranger
from service_core.access.places import Places
from service_core.access.requests.model import RequestStatus
from service_core.access.signup.apply import DEFAULT_PLAN, Application, Applications, Applied, Wish
from service_core.access.signup.model import Notice, Signup, SignupStatus
from service_core.access.signup.ports import By, Signups
from service_core.access.signup.settle import Settlement
from service_core.access.texts import Line, Sentence
from service_core.access.workspaces import Workspaces
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import ANY_SCOPE, Budget, Entry, Scope, Surface, operation
from service_core.kernel.params import Answer, BodyModel

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
"""What to do next, in order."""


def _host(text: str) -> str:
    host = text.lower().removeprefix("https://").removeprefix("http://").rstrip("/").rstrip(".")
    if len(host) > 253 or not _HOST.fullmatch(host):  # noqa: PLR2004 - the longest name of a host
        raise ValueError("must be a host name")
    return host


class KeyWish(BodyModel):
    """A key that rides along; it can read and nothing else."""

    name: Line = Field(description="Name of the key.")
    scopes: list[str] = Field([Scope.READ.value], description="Only `service:read`.")
    reason: Sentence | None = Field(None, description="Why, for the person who pays.")


class SignupBody(BodyModel):
    """A wish for a workspace."""

    email: str = Field(description="Address of the person who will own the workspace.")
    name: Line | None = Field(None, description="Name of that person.")
    company: Line | None = None
    workspace_name: Line | None = Field(None, description="Name of the workspace.")
    domain: Annotated[Line, AfterValidator(_host)] | None = Field(None, description="The main site.")
    timezone: Line = Field("UTC", description="IANA zone its days are counted in.")
    plan: Line = Field(DEFAULT_PLAN, description="Id of a plan.")
    key_request: KeyWish | None = None


class Riding(Answer):
    """The key that rides along."""

    request_id: UUID
    status: RequestStatus


class SignupTaken(Answer):
    """A signup that waits for payment; the secret is shown this once."""

    signup_id: UUID
    status: SignupStatus
    checkout_url: str
    signup_secret: str
    poll_url: str
    expires_at: datetime
    key_request: Riding | None


class VerificationSent(Answer):
    """The answer of a deployment that proves addresses first."""

    status: Literal["verification_sent"] = "verification_sent"


class SignupWorkspace(Answer):
    """The workspace of a paid signup."""

    id: str
    name: str


class SignupState(Answer):
    """Where a signup stands."""

    signup_id: UUID
    status: SignupStatus
    workspace: SignupWorkspace | None
    next_steps: list[str]
    expires_at: datetime


class SignupPath(BodyModel):
    """Path parameters."""

    signup_id: UUID = Field(alias="signupId")


class Received(Answer):
    """The notice was booked, or concerns nothing here."""

    received: bool = True


@operation(
    "POST /signup", scope=None, budget=Budget.NONE, tag="signup", statuses=(202,), errors=(404, 429, 503)
)
async def sign_up(
    body: SignupBody, *, who: Stranger, applications: Applications, places: Places
) -> SignupTaken | VerificationSent:
    """Record a signup and offer its checkout.

    No account, workspace or key exists before a person has paid. The answer is the same whether or
    not the address is known.
    """
    applied = await applications.apply(_application(body), who.client)
    return VerificationSent() if applied is None else _taken(applied, places)


@operation("GET /signup/{signupId}", scope=ANY_SCOPE, entry=Entry.SIGNUP, tag="signup")
async def get_signup(
    path: SignupPath, *, who: Applicant, signups: Signups, settlement: Settlement, workspaces: Workspaces
) -> SignupState:
    """Follow a signup with its secret, until its status is ``paid``."""
    signup = await signups.find_signup(By.ID, path.signup_id.hex)
    if signup is None or signup.id != who.signup_id:
        raise refused()
    present = await settlement.reconcile(signup)
    status = present.status_at(who.now)
    return SignupState(
        signup_id=present.id,
        status=status,
        workspace=await _workspace(present, workspaces),
        next_steps=NEXT_STEPS[status],
        expires_at=present.expires_at,
    )


@operation(
    "POST /checkout/notices",
    scope=None,
    budget=Budget.NONE,
    surface=Surface.ROOT,
    tag="signup",
    errors=(403, 503),
)
async def receive_payment_notice(raw: bytes, *, who: Stranger, settlement: Settlement) -> Received:
    """Take a webhook of the checkout. Its signature is checked over the body as it came."""
    await settlement.receive(Notice(raw, who.headers, who.now))
    return Received()


def _application(body: SignupBody) -> Application:
    wish = body.key_request
    if wish is not None and wish.scopes != [Scope.READ.value]:
        raise BadRequest("Only a key to read can ride along", "invalid_parameter", field="key_request.scopes")
    email = email_of(body.email)
    return Application(
        email=email,
        name=body.name,
        company=body.company,
        workspace_name=body.workspace_name,
        domain=body.domain,
        timezone=body.timezone,
        plan=body.plan,
        wish=None if wish is None else Wish(wish.name, wish.reason or None),
    )


def _taken(applied: Applied, places: Places) -> SignupTaken:
    request = applied.key_request
    return SignupTaken(
        signup_id=applied.signup.id,
        status=SignupStatus.PENDING,
        checkout_url=applied.checkout_url,
        signup_secret=applied.secret,
        poll_url=places.poll("signup", applied.signup.id),
        expires_at=applied.signup.expires_at,
        key_request=Riding(request_id=request.id, status=request.status) if request else None,
    )


async def _workspace(signup: Signup, workspaces: Workspaces) -> SignupWorkspace | None:
    workspace = await workspaces.find(signup.workspace_id) if signup.workspace_id else None
    return SignupWorkspace(id=workspace.public_id, name=workspace.name) if workspace else None


OPERATIONS = (sign_up, get_signup, receive_payment_notice)
