"""A signup and its states, and the values exchanged with a checkout."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

SIGNUP_LIFETIME: Final = timedelta(days=7)


UNPAID_SIGNUP_RETENTION: Final = timedelta(days=30)
"""How long an expired signup is kept for a payment that is reported late. Then its personal data is deleted."""


class SignupStatus(StrEnum):
    """State of a signup."""

    PENDING = "pending"
    PAID = "paid"
    EXPIRED = "expired"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Signup:
    """A requested workspace. ``status`` is the stored state; `status_at` takes expiry into account.

    Attributes:
        order: id of the checkout session at the payment provider; None until it was created.
        key_request_id: the key request that was made together with the signup.
    """

    id: UUID
    email: str
    name: str | None
    company: str | None
    workspace_name: str
    domain: str | None
    timezone: str
    plan: str
    created_at: datetime
    expires_at: datetime
    status: SignupStatus = SignupStatus.PENDING
    order: str | None = None
    paid_at: datetime | None = None
    workspace_id: UUID | None = None
    key_request_id: UUID | None = None

    def status_at(self, now: datetime) -> SignupStatus:
        """Returns the state at ``now``. Expiry is computed, not stored."""
        if self.status is SignupStatus.PENDING and now >= self.expires_at:
            return SignupStatus.EXPIRED
        return self.status


@dataclass(frozen=True, slots=True)
class CheckoutRequest:
    """Plan and workspace of a checkout session.

    Attributes:
        page_url: page of the web application, for a checkout without a page of its own.
        return_url: page after payment; it contains a one-time token.
        cancel_url: page after cancellation.
    """

    signup_id: UUID
    email: str
    plan: str
    expires_at: datetime
    page_url: str
    return_url: str = field(repr=False)
    cancel_url: str


@dataclass(frozen=True, slots=True)
class CheckoutSession:
    """A created checkout session: its id at the payment provider, and the URL of its payment page."""

    order_id: str
    url: str


class SignupPaymentState(StrEnum):
    """State of a payment at the checkout."""

    OPEN = "open"
    PAID = "paid"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class SignupPayment:
    """A payment reported by the checkout, after product and price were verified."""

    signup_id: UUID
    order_id: str
    state: SignupPaymentState


@dataclass(frozen=True, slots=True)
class CheckoutWebhook:
    """A webhook request of the checkout as received. It is untrusted until the adapter has verified it.

    Attributes:
        headers: names in lower case.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    received_at: datetime


class InvalidWebhookSignature(Exception):
    """A webhook has no valid signature, or is too old."""


class CheckoutUnavailable(Exception):
    """The checkout cannot be reached, or rejects the request."""
