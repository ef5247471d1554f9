"""Taking a signup: the same answer and the same work whether or not an address is known (contract 7.1)."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.keys import checked_zone
from service_core.access.mail import Mail, MailDown, Message
from service_core.access.networks import network_of
from service_core.access.plans import PLANS, UNLIMITED
from service_core.access.ports import LimiterDown, RateLimiter
from service_core.access.requests.file import Filing, pending
from service_core.access.requests.model import KeyRequest
from service_core.access.signup.model import LIFETIME, CheckoutDown, Order, Placed, Signup
from service_core.access.signup.ports import By, Checkout, Secrets, Signups
from service_core.kernel.clock import Clock
from service_core.kernel.errors import BadRequest, NotFound, TooMany, Unavailable503
from service_core.kernel.ids import ONE_TIME_TOKEN, digest, new_id, new_signup_secret, new_token
from service_core.kernel.operations import Scope
from service_core.kernel.settings import SignupMode

PER_CLIENT: Final = 5
CLIENT_SECONDS: Final = 3_600
PER_ADDRESS: Final = 3
ADDRESS_SECONDS: Final = 86_400
DEFAULT_PLAN: Final = "starter"


@dataclass(frozen=True, slots=True)
class Wish:
    """A key to read that rides along."""

    name: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Application:
    """What somebody signs up with, each part of the right form."""

    email: str
    name: str | None = None
    company: str | None = None
    workspace_name: str | None = None
    domain: str | None = None
    timezone: str = "UTC"
    plan: str = DEFAULT_PLAN
    wish: Wish | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """A signup that waits for payment; its secret is shown once."""

    signup: Signup
    checkout_url: str
    key_request: KeyRequest | None
    secret: str = field(repr=False)


class Applications:
    """Takes signups.

    Args:
        signups: where they are kept.
        checkout: where people pay.
        mail: for the verification variant.
        limiter: counts signups; without it none is taken.
        clock: gives the present.
        mode: what a signup leads to.
        web_url: address of the web application.
    """

    def __init__(
        self,
        signups: Signups,
        checkout: Checkout,
        mail: Mail,
        *,
        limiter: RateLimiter,
        clock: Clock,
        mode: SignupMode,
        web_url: str,
    ) -> None:
        self._signups = signups
        self._checkout = checkout
        self._mail = mail
        self._limiter = limiter
        self._clock = clock
        self._mode = mode
        self._web_url = web_url

    async def apply(self, application: Application, client: str | None) -> Applied | None:
        """Record a signup and offer its order.

        Args:
            application: what it asks for.
            client: address of the client.

        Returns:
            The signup with its checkout; None when a mail leads there first.

        Raises:
            NotFound: the deployment takes no signups.
            BadRequest: ``invalid_parameter``: an unknown zone or plan.
            TooMany: ``signup_rate_limited``.
            Unavailable503: ``limiter_unavailable``, ``checkout_unavailable``, ``mail_unavailable``.
        """
        if self._mode == "closed":
            raise NotFound
        now = self._clock()
        signup, wish = _recorded(application, now)
        await self._count(f"signup-client:{network_of(client)}", PER_CLIENT, CLIENT_SECONDS)
        await self._count(f"signup-address:{digest(signup.email)}", PER_ADDRESS, ADDRESS_SECONDS)
        if self._mode == "verification":
            await self._send_verification(signup)
            return None
        secret, welcome = new_signup_secret(), new_token()
        await self._signups.add_signup(signup, Secrets(digest(secret), digest(welcome)), wish)
        placed = await self._place(signup, welcome)
        return Applied(signup, placed.url, wish, secret)

    async def verify(self, token: str) -> str:
        """The checkout a mailed link leads to.

        Raises:
            NotFound: the link is unknown, or the signup has come to an end.
            Unavailable503: ``checkout_unavailable``.
        """
        known = ONE_TIME_TOKEN.fullmatch(token)
        signup = await self._signups.find_signup(By.VERIFICATION, digest(token)) if known else None
        if signup is None or signup.status_at(self._clock()) != "pending":
            raise NotFound
        welcome = new_token()
        await self._signups.renew_welcome(signup.id, digest(welcome))
        return (await self._place(signup, welcome)).url

    async def _send_verification(self, signup: Signup) -> None:
        token = new_token()
        await self._signups.add_signup(signup, Secrets(None, digest(new_token()), digest(token)), None)
        link = f"{self._web_url}/signup/verify?token={token}"
        text = f"Somebody signed up with this address. Was it you?\n\nGo on to the checkout:\n{link}\n"
        try:
            await self._mail.send(Message(signup.email, "Confirm your address", text))
        except MailDown:
            raise Unavailable503("The mail cannot be sent now", "mail_unavailable") from None

    async def _place(self, signup: Signup, welcome: str) -> Placed:
        order = Order(
            signup_id=signup.id,
            email=signup.email,
            plan=signup.plan,
            expires_at=signup.expires_at,
            page_url=f"{self._web_url}/checkout/{signup.id}",
            return_url=f"{self._web_url}/welcome?token={welcome}",
            cancel_url=f"{self._web_url}/checkout/canceled",
        )
        try:
            placed = await self._checkout.place(order)
        except CheckoutDown:
            raise Unavailable503("The checkout cannot be reached", "checkout_unavailable") from None
        await self._signups.place_order(signup.id, placed.order)
        return placed

    async def _count(self, key: str, limit: int, seconds: int) -> None:
        try:
            allowance = await self._limiter.spend(key, limit, seconds)
        except LimiterDown:
            raise Unavailable503("The rate limit store cannot be reached", "limiter_unavailable") from None
        if not allowance.allowed:
            left = seconds - int(self._clock().timestamp()) % seconds
            raise TooMany("Too many signups", "signup_rate_limited", headers={"Retry-After": str(left)})


def _recorded(application: Application, now: datetime) -> tuple[Signup, KeyRequest | None]:
    signup_id, request = new_id(), None
    if application.wish is not None:
        filing = Filing(
            filer=signup_id,
            requester=f"the signup of {application.email}",
            name=application.wish.name,
            scopes=frozenset({Scope.READ}),
            reason=application.wish.reason,
        )
        request = replace(pending(filing, now, workspace_id=None), expires_at=now + LIFETIME)
    return _signup(signup_id, application, now, request.id if request else None), request


def _signup(signup_id: UUID, application: Application, now: datetime, request_id: UUID | None) -> Signup:
    return Signup(
        id=signup_id,
        email=application.email,
        name=application.name,
        company=application.company,
        workspace_name=(
            application.workspace_name or application.company or application.domain or "My workspace"
        ),
        domain=application.domain,
        timezone=checked_zone(application.timezone),
        plan=_sold(application.plan),
        created_at=now,
        expires_at=now + LIFETIME,
        key_request_id=request_id,
    )


def _sold(plan: str) -> str:
    sold = [known for known in PLANS if known != UNLIMITED.id]
    if plan not in sold:
        raise BadRequest("Unknown plan", "invalid_parameter", field="plan", hint=f"Plans: {', '.join(sold)}.")
    return plan
