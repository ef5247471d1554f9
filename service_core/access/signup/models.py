"""A signup and the states it goes through, and what passes between it and a checkout (contract 7.1, 13)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

SIGNUP_LIFETIME: Final = timedelta(days=7)


class SignupStatus(StrEnum):
    """Where a signup stands."""

    PENDING = "pending"
    PAID = "paid"
    EXPIRED = "expired"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Signup:
    """Somebody's wish for a workspace. ``status`` is what was written last; `status_at` says what holds.

    Attributes:
        order: the checkout's own id of the order; None until it was placed.
        key_request_id: the request that rides along.
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
        """The state at ``now``: nothing writes a row when time passes."""
        if self.status is SignupStatus.PENDING and now >= self.expires_at:
            return SignupStatus.EXPIRED
        return self.status


@dataclass(frozen=True, slots=True)
class CheckoutRequest:
    """What a checkout is asked to sell.

    Attributes:
        page_url: page of the web application, for a checkout that has none of its own.
        return_url: where the person goes after payment; it holds a one-time token.
        cancel_url: where the person goes instead.
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
    """An order the checkout has taken: its id there, and the page where a person pays."""

    order_id: str
    url: str


class SignupPaymentState(StrEnum):
    """What a checkout knows of an order."""

    OPEN = "open"
    PAID = "paid"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class SignupPayment:
    """What a checkout says of an order, after it has checked product and price."""

    signup_id: UUID
    order_id: str
    state: SignupPaymentState


@dataclass(frozen=True, slots=True)
class CheckoutWebhook:
    """A call of the checkout, as it came: nothing in it is believed before the adapter has checked it.

    Attributes:
        headers: names in lower case.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    received_at: datetime


class InvalidWebhookSignature(Exception):
    """A notice without a valid signature, or one that is too old."""


class CheckoutUnavailable(Exception):
    """The checkout cannot be reached, or refuses what it is asked."""
