"""From a payment to a workspace: once, whichever of notice and poll comes first (contract 7.1, S16)."""

import logging
from datetime import datetime
from typing import Final

from service_core.access.api_keys import build_workspace, build_workspace_key
from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.members.emails import send_password_link
from service_core.access.members.models import Account
from service_core.access.members.ports import Accounts
from service_core.access.models import CredentialKind
from service_core.access.ports import RateLimiter, RateLimiterUnavailable
from service_core.access.signup.models import (
    CheckoutUnavailable,
    CheckoutWebhook,
    InvalidWebhookSignature,
    Signup,
    SignupPayment,
    SignupPaymentState,
    SignupStatus,
)
from service_core.access.signup.ports import Checkout, SignupLookup, Signups, WorkspaceProvisioning
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Forbidden, ServiceUnavailable
from service_core.kernel.ids import new_id, sha256_hex

CHECKOUT_POLL_SECONDS: Final = 10
"""The checkout is asked about one order at most this often, however often the signup is polled."""

_log: Final = logging.getLogger("touchpoint.signup")


class SignupPayments:
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
        mail: EmailSender,
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

    async def receive_webhook(self, notice: CheckoutWebhook) -> bool:
        """Book what a call of the checkout says; True when it brought a workspace about.

        Raises:
            Forbidden: ``invalid_signature``.
            Unavailable503: ``checkout_unavailable``: the checkout has to send it again.
        """
        try:
            payment = await self._checkout.receive_webhook(notice)
        except InvalidWebhookSignature:
            raise Forbidden("The signature is not valid", "invalid_signature") from None
        except CheckoutUnavailable:
            raise ServiceUnavailable("The checkout cannot be reached", "checkout_unavailable") from None
        return payment is not None and await self.record_payment(payment)

    async def record_payment(self, payment: SignupPayment) -> bool:
        """Book a payment the checkout has confirmed; True when it brought a workspace about.

        A payment counts though the signup has expired or was canceled: the money is there.
        """
        signup = await self._signups.find_signup(SignupLookup.ID, payment.signup_id.hex)
        if signup is None:
            _log.warning("a payment for an unknown signup was left alone")
            return False
        if payment.state is SignupPaymentState.CANCELED:
            await self._signups.cancel_signup(signup.id)
        if payment.state is not SignupPaymentState.PAID or signup.status is SignupStatus.PAID:
            return False
        account = await self._signups.record_payment(signup.id, _build_provisioning(signup, self._clock()))
        if account is None:
            return False
        await self._send_welcome_email(account, signup)
        return True

    async def refresh_payment(self, signup: Signup) -> Signup:
        """Ask the checkout about a signup that waits: its notice may be late or lost."""
        if signup.status is not SignupStatus.PENDING or signup.order is None:
            return signup
        try:
            allowance = await self._limiter.consume(f"checkout-look:{signup.id}", 1, CHECKOUT_POLL_SECONDS)
            if not allowance.allowed:
                return signup
            await self.record_payment(await self._checkout.get_payment(signup.order))
        except (RateLimiterUnavailable, CheckoutUnavailable):
            return signup
        return await self._signups.find_signup(SignupLookup.ID, signup.id.hex) or signup

    async def _send_welcome_email(self, account: Account, signup: Signup) -> None:
        reason = f"Your workspace {signup.workspace_name} is ready."
        try:
            if account.password is not None:
                text = f"{reason}\n\nSign in: {self._web_url}\n"
                await self._mail.send(EmailMessage(account.email, "Your workspace is ready", text))
                return
            await send_password_link(
                self._accounts, self._mail, account, web_url=self._web_url, now=self._clock(), reason=reason
            )
        except EmailSenderUnavailable:
            _log.warning("the mail about a new workspace was not sent; its owner can ask for another")


def _build_provisioning(signup: Signup, now: datetime) -> WorkspaceProvisioning:
    workspace = build_workspace(
        now, name=signup.workspace_name, timezone=signup.timezone, domain=signup.domain, plan=signup.plan
    )
    # Nobody has seen these secrets: the owner makes new values in the settings when they are needed.
    minted = [
        build_workspace_key(workspace, kind, now) for kind in (CredentialKind.WRITE, CredentialKind.AGENT)
    ]
    return WorkspaceProvisioning(
        account=Account(new_id(), signup.email, signup.name, now),
        workspace=workspace,
        credentials=tuple((one.credential, sha256_hex(one.secret)) for one in minted),
        paid_at=now,
    )
