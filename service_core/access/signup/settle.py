"""From a payment to a workspace: once, whichever of notice and poll comes first (contract 7.1, S16)."""

import logging
from datetime import datetime
from typing import Final

from service_core.access.keys import prepare_issue, prepare_workspace
from service_core.access.mail import Mail, MailDown, Message
from service_core.access.members.letters import send_password_link
from service_core.access.members.model import Account
from service_core.access.members.ports import Accounts
from service_core.access.model import CredentialKind
from service_core.access.ports import LimiterDown, RateLimiter
from service_core.access.signup.model import (
    CheckoutDown,
    Forged,
    Notice,
    Payment,
    PaymentState,
    Signup,
    SignupStatus,
)
from service_core.access.signup.ports import By, Checkout, Founding, Signups
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Forbidden, Unavailable503
from service_core.kernel.ids import digest, new_id

LOOK_SECONDS: Final = 10
"""The checkout is asked about one order at most this often, however often the signup is polled."""

_log: Final = logging.getLogger("touchpoint.signup")


class Settlement:
    """Books payments.

    Args:
        signups: where signups are kept.
        checkout: where people pay.
        accounts: for the link to choose a password.
        mail: how that link leaves.
        limiter: spares the checkout.
        clock: gives the present.
        web_url: address of the web application.
    """

    def __init__(
        self,
        signups: Signups,
        checkout: Checkout,
        accounts: Accounts,
        mail: Mail,
        *,
        limiter: RateLimiter,
        clock: Clock,
        web_url: str,
    ) -> None:
        self._signups = signups
        self._checkout = checkout
        self._accounts = accounts
        self._mail = mail
        self._limiter = limiter
        self._clock = clock
        self._web_url = web_url

    async def receive(self, notice: Notice) -> bool:
        """Book what a call of the checkout says; True when it brought a workspace about.

        Raises:
            Forbidden: ``invalid_signature``.
            Unavailable503: ``checkout_unavailable``: the checkout has to send it again.
        """
        try:
            payment = await self._checkout.receive(notice)
        except Forged:
            raise Forbidden("The signature is not valid", "invalid_signature") from None
        except CheckoutDown:
            raise Unavailable503("The checkout cannot be reached", "checkout_unavailable") from None
        return payment is not None and await self.settle(payment)

    async def settle(self, payment: Payment) -> bool:
        """Book a payment the checkout has confirmed; True when it brought a workspace about.

        A payment counts though the signup has expired or was canceled: the money is there.
        """
        signup = await self._signups.find_signup(By.ID, payment.signup_id.hex)
        if signup is None:
            _log.warning("a payment for an unknown signup was left alone")
            return False
        if payment.state is PaymentState.CANCELED:
            await self._signups.cancel(signup.id)
        if payment.state is not PaymentState.PAID or signup.status is SignupStatus.PAID:
            return False
        account = await self._signups.settle(signup.id, _founding(signup, self._clock()))
        if account is None:
            return False
        await self._welcome(account, signup)
        return True

    async def reconcile(self, signup: Signup) -> Signup:
        """Ask the checkout about a signup that waits: its notice may be late or lost."""
        if signup.status is not SignupStatus.PENDING or signup.order is None:
            return signup
        try:
            allowance = await self._limiter.spend(f"checkout-look:{signup.id}", 1, LOOK_SECONDS)
            if not allowance.allowed:
                return signup
            await self.settle(await self._checkout.look(signup.order))
        except (LimiterDown, CheckoutDown):
            return signup
        return await self._signups.find_signup(By.ID, signup.id.hex) or signup

    async def _welcome(self, account: Account, signup: Signup) -> None:
        reason = f"Your workspace {signup.workspace_name} is ready."
        try:
            if account.password is not None:
                text = f"{reason}\n\nSign in: {self._web_url}\n"
                await self._mail.send(Message(account.email, "Your workspace is ready", text))
                return
            await send_password_link(
                self._accounts, self._mail, account, web_url=self._web_url, now=self._clock(), reason=reason
            )
        except MailDown:
            _log.warning("the mail about a new workspace was not sent; its owner can ask for another")


def _founding(signup: Signup, now: datetime) -> Founding:
    workspace = prepare_workspace(
        now, name=signup.workspace_name, timezone=signup.timezone, domain=signup.domain, plan=signup.plan
    )
    # Nobody has seen these secrets: the owner makes new values in the settings when they are needed.
    minted = [prepare_issue(workspace, kind, now) for kind in (CredentialKind.WRITE, CredentialKind.AGENT)]
    return Founding(
        account=Account(new_id(), signup.email, signup.name, now),
        workspace=workspace,
        credentials=tuple((one.credential, digest(one.secret)) for one in minted),
        paid_at=now,
    )
