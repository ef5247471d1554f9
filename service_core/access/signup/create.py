"""Creates signups. Responses and work done do not depend on whether the e-mail address is known."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.api_keys import validate_time_zone
from service_core.access.billing_plans import BILLING_PLANS, UNLIMITED_PLAN
from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.ip_prefixes import full_ipv4_or_ipv6_slash_64
from service_core.access.key_requests.create import KeyRequestInput, build_pending_request_for_24_hours
from service_core.access.key_requests.models import KeyRequest
from service_core.access.ports import RateLimiter, RateLimiterUnavailable
from service_core.access.signup.models import (
    SIGNUP_LIFETIME,
    CheckoutRequest,
    CheckoutSession,
    CheckoutUnavailable,
    Signup,
)
from service_core.access.signup.ports import Checkout, SignupDigests, SignupLookup, Signups
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, NotFound, ServiceUnavailable, TooManyRequests
from service_core.kernel.ids import ONE_TIME_TOKEN_PATTERN, new_id, new_signup_secret, new_token, sha256_hex
from service_core.kernel.operations import Scope
from service_core.kernel.settings import SignupMode

SIGNUPS_PER_CLIENT: Final = 5
CLIENT_WINDOW_SECONDS: Final = 3_600
SIGNUPS_PER_EMAIL: Final = 3
EMAIL_WINDOW_SECONDS: Final = 86_400
DEFAULT_PLAN: Final = "starter"


@dataclass(frozen=True, slots=True)
class RequestedKey:
    """A read key that is requested together with a signup."""

    name: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SignupInput:
    """Validated input of a signup."""

    email: str
    name: str | None = None
    company: str | None = None
    workspace_name: str | None = None
    domain: str | None = None
    timezone: str = "UTC"
    plan: str = DEFAULT_PLAN
    requested_key: RequestedKey | None = None


@dataclass(frozen=True, slots=True)
class CreatedSignup:
    """A signup that waits for payment. Its secret is shown once."""

    signup: Signup
    checkout_url: str
    key_request: KeyRequest | None
    secret: str = field(repr=False)


class SignupCreator:
    """Creates signups and their checkout sessions.

    Args:
        signups: the store of signups.
        checkout: the payment provider.
        email_sender: sends verification e-mails.
        limiter: counts signups; none is created while it is unavailable.
        clock: current time.
        mode: checkout, verification or closed.
        web_url: URL of the web application.
    """

    def __init__(
        self,
        signups: Signups,
        checkout: Checkout,
        email_sender: EmailSender,
        *,
        limiter: RateLimiter,
        clock: Clock,
        mode: SignupMode,
        web_url: str,
    ) -> None:
        self._signups = signups
        self._checkout = checkout
        self._email_sender = email_sender
        self._limiter = limiter
        self._clock = clock
        self._mode = mode
        self._web_url = web_url

    async def create_checkout_or_send_verification(
        self, signup_input: SignupInput, client_ip: str | None
    ) -> CreatedSignup | None:
        """Stores a signup and creates its checkout session, or sends a verification e-mail first.

        At most 5 signups per client IP prefix and hour, and 3 per e-mail address and day.

        Args:
            signup_input: the validated input.
            client_ip: IP address of the client, if known.

        Returns:
            The signup with its checkout session; None if a verification e-mail was sent first.

        Raises:
            NotFound: the deployment accepts no signups.
            BadRequest: ``invalid_parameter``: an unknown time zone or plan.
            TooManyRequests: ``signup_rate_limited``.
            ServiceUnavailable: ``limiter_unavailable``, ``checkout_unavailable``, ``mail_unavailable``.
        """
        if self._mode == "closed":
            raise NotFound
        now = self._clock()
        signup, key_request = _build_signup_and_key_request(signup_input, now)
        await self._count_signup_or_raise(
            f"signup-client:{full_ipv4_or_ipv6_slash_64(client_ip)}",
            SIGNUPS_PER_CLIENT,
            CLIENT_WINDOW_SECONDS,
        )
        await self._count_signup_or_raise(
            f"signup-address:{sha256_hex(signup.email)}", SIGNUPS_PER_EMAIL, EMAIL_WINDOW_SECONDS
        )
        if self._mode == "verification":
            await self._save_signup_and_send_verification(signup)
            return None
        secret, welcome_token = new_signup_secret(), new_token()
        await self._signups.add_signup(
            signup, SignupDigests(sha256_hex(secret), sha256_hex(welcome_token)), key_request
        )
        session = await self._create_checkout_and_save_order_id(signup, welcome_token)
        return CreatedSignup(signup, session.url, key_request, secret)

    async def create_checkout_for_verified_email(self, verification_token: str) -> str:
        """Returns the checkout URL for the token of a verification e-mail.

        Raises:
            NotFound: the token is unknown, or the signup is no longer pending.
            ServiceUnavailable: ``checkout_unavailable``.
        """
        is_well_formed = ONE_TIME_TOKEN_PATTERN.fullmatch(verification_token)
        signup = (
            await self._signups.find_signup(SignupLookup.VERIFICATION, sha256_hex(verification_token))
            if is_well_formed
            else None
        )
        if signup is None or signup.status_at(self._clock()) != "pending":
            raise NotFound
        welcome_token = new_token()
        await self._signups.replace_welcome_link(signup.id, sha256_hex(welcome_token))
        return (await self._create_checkout_and_save_order_id(signup, welcome_token)).url

    async def _save_signup_and_send_verification(self, signup: Signup) -> None:
        token = new_token()
        await self._signups.add_signup(
            signup, SignupDigests(None, sha256_hex(new_token()), sha256_hex(token)), None
        )
        link = f"{self._web_url}/signup/verify?token={token}"
        text = f"Somebody signed up with this address. If it was you, continue to the checkout:\n{link}\n"
        try:
            await self._email_sender.send(EmailMessage(signup.email, "Confirm your address", text))
        except EmailSenderUnavailable:
            raise ServiceUnavailable("The mail cannot be sent now", "mail_unavailable") from None

    async def _create_checkout_and_save_order_id(self, signup: Signup, welcome_token: str) -> CheckoutSession:
        checkout_request = CheckoutRequest(
            signup_id=signup.id,
            email=signup.email,
            plan=signup.plan,
            expires_at=signup.expires_at,
            page_url=f"{self._web_url}/checkout/{signup.id}",
            return_url=f"{self._web_url}/welcome?token={welcome_token}",
            cancel_url=f"{self._web_url}/checkout/canceled",
        )
        try:
            session = await self._checkout.create_session(checkout_request)
        except CheckoutUnavailable:
            raise ServiceUnavailable("The checkout cannot be reached", "checkout_unavailable") from None
        await self._signups.save_order_id(signup.id, session.order_id)
        return session

    async def _count_signup_or_raise(self, counted_key: str, max_signups: int, window_seconds: int) -> None:
        try:
            result = await self._limiter.consume(counted_key, max_signups, window_seconds)
        except RateLimiterUnavailable:
            raise ServiceUnavailable(
                "The rate limit store cannot be reached", "limiter_unavailable"
            ) from None
        if not result.allowed:
            seconds_left = window_seconds - int(self._clock().timestamp()) % window_seconds
            raise TooManyRequests(
                "Too many signups", "signup_rate_limited", headers={"Retry-After": str(seconds_left)}
            )


def _build_signup_and_key_request(
    signup_input: SignupInput, now: datetime
) -> tuple[Signup, KeyRequest | None]:
    signup_id, request = new_id(), None
    if signup_input.requested_key is not None:
        key_input = KeyRequestInput(
            requester_id=signup_id,
            requester=f"the signup of {signup_input.email}",
            name=signup_input.requested_key.name,
            scopes=frozenset({Scope.READ}),
            reason=signup_input.requested_key.reason,
        )
        request = replace(
            build_pending_request_for_24_hours(key_input, now, workspace_id=None),
            expires_at=now + SIGNUP_LIFETIME,
        )
    return _build_validated_signup(signup_id, signup_input, now, request.id if request else None), request


def _build_validated_signup(
    signup_id: UUID, signup_input: SignupInput, now: datetime, key_request_id: UUID | None
) -> Signup:
    return Signup(
        id=signup_id,
        email=signup_input.email,
        name=signup_input.name,
        company=signup_input.company,
        workspace_name=(
            signup_input.workspace_name or signup_input.company or signup_input.domain or "My workspace"
        ),
        domain=signup_input.domain,
        timezone=validate_time_zone(signup_input.timezone),
        plan=_require_plan_other_than_unlimited(signup_input.plan),
        created_at=now,
        expires_at=now + SIGNUP_LIFETIME,
        key_request_id=key_request_id,
    )


def _require_plan_other_than_unlimited(plan: str) -> str:
    sold_plans = [plan_id for plan_id in BILLING_PLANS if plan_id != UNLIMITED_PLAN.id]
    if plan not in sold_plans:
        raise BadRequest(
            "Unknown plan", "invalid_parameter", field="plan", hint=f"Plans: {', '.join(sold_plans)}."
        )
    return plan
