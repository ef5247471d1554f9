"""What signup needs from outside: a store whose steps have one winner, and a checkout."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from service_core.access.key_requests.models import KeyRequest
from service_core.access.members.models import Account
from service_core.access.models import Credential, Workspace
from service_core.access.signup.models import (
    CheckoutRequest,
    CheckoutSession,
    CheckoutWebhook,
    Signup,
    SignupPayment,
)


class SignupLookup(StrEnum):
    """What a signup is found by; every one but its id is a digest."""

    ID = "id"
    SECRET = "secret"  # noqa: S105 - the name of a column
    WELCOME = "welcome"
    VERIFICATION = "verification"


@dataclass(frozen=True, slots=True)
class SignupDigests:
    """Digests of the secrets of a signup; None for one that it does not have."""

    secret: str | None
    welcome: str
    verification: str | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceProvisioning:
    """Everything a payment brings about, made before it is known who wins.

    Attributes:
        account: added only if its address has none yet; the workspace belongs to whoever has it.
        credentials: the write key and the Agent key with their digests.
    """

    account: Account
    workspace: Workspace
    credentials: tuple[tuple[Credential, str], ...]
    paid_at: datetime


class Signups(Protocol):
    """Signups, durably."""

    async def add_signup(
        self, signup: Signup, secrets: SignupDigests, key_request: KeyRequest | None
    ) -> None:
        """Keep a new signup and the request it carries."""

    async def find_signup(self, by: SignupLookup, value: str) -> Signup | None:
        """The signup with this id (in hex, with or without hyphens) or digest."""

    async def save_order_id(self, signup_id: UUID, order: str) -> None:
        """Remember the checkout's id of the order; the latest one counts."""

    async def record_payment(self, signup_id: UUID, provisioning: WorkspaceProvisioning) -> Account | None:
        """Move a signup that is not paid to ``paid``, with everything it brings about, in one step.

        Creates the account unless its address has one, the workspace, the membership of the owner
        and the keys; gives the request it carries its workspace and 24 hours from now.

        Returns:
            The account; None, and no change, when the signup is unknown or was paid before.
        """

    async def cancel_signup(self, signup_id: UUID) -> bool:
        """Move a pending signup to ``canceled``; False when it is not pending."""

    async def replace_welcome_link(self, signup_id: UUID, welcome: str) -> None:
        """Give a signup another welcome link by its digest; the former one ends."""


class Checkout(Protocol):
    """Where people pay."""

    async def create_session(self, order: CheckoutRequest) -> CheckoutSession:
        """Offer an order to the person who opens its page; placing it again gives the same one.

        Raises:
            CheckoutUnavailable: it was not placed.
        """

    async def get_payment(self, order: str) -> SignupPayment:
        """Ask how an order stands: what to do when a notice was lost.

        Raises:
            CheckoutUnavailable: nothing is known.
        """

    async def receive_webhook(self, notice: CheckoutWebhook) -> SignupPayment | None:
        """Check a call of the checkout; None when it concerns no order of ours.

        Raises:
            Forged: no valid signature, or older than 300 seconds.
            CheckoutUnavailable: it has to be sent again.
        """


class SandboxCheckout(Protocol):
    """A checkout without money, as a page of the web application operates it."""

    def confirm_payment(self, signup_id: UUID, now: datetime) -> CheckoutWebhook:
        """The notice of a payment, signed."""

    def cancel_payment(self, signup_id: UUID, now: datetime) -> CheckoutWebhook:
        """The notice of a cancellation, signed."""
