"""What signup needs from outside: a store whose steps have one winner, and a checkout."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from service_core.access.members.model import Account
from service_core.access.model import Credential, Workspace
from service_core.access.requests.model import KeyRequest
from service_core.access.signup.model import Notice, Order, Payment, Placed, Signup


class By(StrEnum):
    """What a signup is found by; every one but its id is a digest."""

    ID = "id"
    SECRET = "secret"  # noqa: S105 - the name of a column
    WELCOME = "welcome"
    VERIFICATION = "verification"


@dataclass(frozen=True, slots=True)
class Secrets:
    """Digests of the secrets of a signup; None for one that it does not have."""

    secret: str | None
    welcome: str
    verification: str | None = None


@dataclass(frozen=True, slots=True)
class Founding:
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

    async def add_signup(self, signup: Signup, secrets: Secrets, key_request: KeyRequest | None) -> None:
        """Keep a new signup and the request it carries."""

    async def find_signup(self, by: By, value: str) -> Signup | None:
        """The signup with this id (in hex, with or without hyphens) or digest."""

    async def place_order(self, signup_id: UUID, order: str) -> None:
        """Remember the checkout's id of the order; the latest one counts."""

    async def settle(self, signup_id: UUID, founding: Founding) -> Account | None:
        """Move a signup that is not paid to ``paid``, with everything it brings about, in one step.

        Creates the account unless its address has one, the workspace, the membership of the owner
        and the keys; gives the request it carries its workspace and 24 hours from now.

        Returns:
            The account; None, and no change, when the signup is unknown or was paid before.
        """

    async def cancel(self, signup_id: UUID) -> bool:
        """Move a pending signup to ``canceled``; False when it is not pending."""

    async def renew_welcome(self, signup_id: UUID, welcome: str) -> None:
        """Give a signup another welcome link by its digest; the former one ends."""


class Checkout(Protocol):
    """Where people pay."""

    async def place(self, order: Order) -> Placed:
        """Offer an order to the person who opens its page; placing it again gives the same one.

        Raises:
            CheckoutDown: it was not placed.
        """

    async def look(self, order: str) -> Payment:
        """Ask how an order stands: what to do when a notice was lost.

        Raises:
            CheckoutDown: nothing is known.
        """

    async def receive(self, notice: Notice) -> Payment | None:
        """Check a call of the checkout; None when it concerns no order of ours.

        Raises:
            Forged: no valid signature, or older than 300 seconds.
            CheckoutDown: it has to be sent again.
        """


class Simulated(Protocol):
    """A checkout without money, as a page of the web application operates it."""

    def confirm(self, signup_id: UUID, now: datetime) -> Notice:
        """The notice of a payment, signed."""

    def refuse(self, signup_id: UUID, now: datetime) -> Notice:
        """The notice of a cancellation, signed."""
