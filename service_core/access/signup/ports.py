"""Ports for signup: a store, and the checkout. Of concurrent changes of a state exactly one succeeds."""

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
    """By which value a signup is looked up; all except its id are digests."""

    ID = "id"
    SECRET = "secret"  # noqa: S105 - the name of a column
    WELCOME = "welcome"
    VERIFICATION = "verification"


@dataclass(frozen=True, slots=True)
class SignupDigests:
    """Digests of the secrets of a signup; None for a secret it does not have."""

    secret: str | None
    welcome: str
    verification: str | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceProvisioning:
    """All records that are created when a signup is paid.

    Attributes:
        account: added only if its e-mail address has no account; otherwise that account owns the workspace.
        credentials: the write key and the agent key with their digests.
    """

    account: Account
    workspace: Workspace
    credentials: tuple[tuple[Credential, str], ...]
    paid_at: datetime


class Signups(Protocol):
    """Stores signups durably."""

    async def add_signup(
        self, signup: Signup, digests: SignupDigests, key_request: KeyRequest | None
    ) -> None:
        """Adds a signup and the key request made with it.

        Deletes unpaid signups that expired 30 days ago (`UNPAID_SIGNUP_RETENTION`).
        """

    async def find_signup(self, lookup: SignupLookup, id_or_digest: str) -> Signup | None:
        """Returns the signup with this id (hexadecimal, with or without hyphens) or digest."""

    async def save_order_id(self, signup_id: UUID, order_id: str) -> None:
        """Stores the id of the checkout session; the latest one counts."""

    async def record_payment(self, signup_id: UUID, provisioning: WorkspaceProvisioning) -> Account | None:
        """Marks an unpaid signup as ``paid`` and creates the workspace in one transaction.

        Creates the account unless the address has one, the workspace, the owner's membership and the keys; assigns the
        workspace to the key request and lets it be decided for 24 hours from now.

        Returns:
            The account; None, without a change, if the signup is unknown or already paid.
        """

    async def cancel_pending_signup(self, signup_id: UUID) -> bool:
        """Marks a pending signup as ``canceled``; False if it is not pending."""

    async def replace_welcome_link(self, signup_id: UUID, link_digest: str) -> None:
        """Replaces the welcome link of a signup by its digest. The previous link becomes invalid."""


class Checkout(Protocol):
    """A payment provider for signups."""

    async def create_session(self, request: CheckoutRequest) -> CheckoutSession:
        """Creates a checkout session; a repeated call for the same signup returns the same one.

        Raises:
            CheckoutUnavailable: it was not created.
        """

    async def get_payment(self, order_id: str) -> SignupPayment:
        """Returns the state of a payment, in case its webhook was lost.

        Raises:
            CheckoutUnavailable: the state is unknown.
        """

    async def receive_webhook(self, webhook: CheckoutWebhook) -> SignupPayment | None:
        """Verifies a webhook and returns its payment; None if it concerns no payment of this deployment.

        Raises:
            InvalidWebhookSignature: the signature is invalid, or older than 300 seconds.
            CheckoutUnavailable: the webhook has to be sent again.
        """


class SandboxCheckout(Protocol):
    """A checkout without money that a page of the web application controls."""

    def confirm_payment(self, signup_id: UUID, now: datetime) -> CheckoutWebhook:
        """Returns the signed webhook of a payment."""

    def cancel_payment(self, signup_id: UUID, now: datetime) -> CheckoutWebhook:
        """Returns the signed webhook of a cancellation."""
