"""Records signup payments and creates workspaces, exactly once per signup.

A payment is reported by a webhook or found by polling the checkout, whichever comes first.
"""

import logging
from datetime import datetime
from typing import Final

from service_core.access.api_keys import build_workspace, build_write_or_agent_key
from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.members.emails import save_and_send_password_link
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
"""Minimum time between two requests to the checkout for one signup, however often the signup is polled."""

_log: Final = logging.getLogger("touchpoint.signup")


class SignupPayments:
    """Records payments of signups.

    Args:
        signups: the store of signups.
        checkout: the payment provider.
        accounts: stores password links.
        email_sender: sends the welcome e-mail.
        limiter: limits requests to the checkout.
        clock: current time.
        web_url: URL of the web application.
    """

    def __init__(
        self,
        signups: Signups,
        checkout: Checkout,
        accounts: Accounts,
        email_sender: EmailSender,
        *,
        limiter: RateLimiter,
        clock: Clock,
        web_url: str,
    ) -> None:
        self._signups = signups
        self._checkout = checkout
        self._accounts = accounts
        self._email_sender = email_sender
        self._limiter = limiter
        self._clock = clock
        self._web_url = web_url

    async def verify_and_record_webhook(self, webhook: CheckoutWebhook) -> bool:
        """Verifies a webhook of the checkout and records its payment. Returns whether a workspace was created.

        Raises:
            Forbidden: ``invalid_signature``.
            ServiceUnavailable: ``checkout_unavailable``; the checkout has to send it again.
        """
        try:
            payment = await self._checkout.receive_webhook(webhook)
        except InvalidWebhookSignature:
            raise Forbidden("The signature is not valid", "invalid_signature") from None
        except CheckoutUnavailable:
            raise ServiceUnavailable("The checkout cannot be reached", "checkout_unavailable") from None
        return payment is not None and await self.record_payment_and_create_workspace_once(payment)

    async def record_payment_and_create_workspace_once(self, payment: SignupPayment) -> bool:
        """Records a verified payment and creates the workspace. Returns whether it was created.

        A payment counts even if the signup has expired or was canceled, because the money was received.
        """
        signup = await self._signups.find_signup(SignupLookup.ID, payment.signup_id.hex)
        if signup is None:
            _log.warning("ignored a payment for an unknown signup")
            return False
        if payment.state is SignupPaymentState.CANCELED:
            await self._signups.cancel_pending_signup(signup.id)
        if payment.state is not SignupPaymentState.PAID or signup.status is SignupStatus.PAID:
            return False
        account = await self._signups.record_payment(
            signup.id, _build_workspace_account_and_keys(signup, self._clock())
        )
        if account is None:
            return False
        await self._send_welcome_email_or_log_failure(account, signup)
        return True

    async def poll_pending_payment_once_per_10_seconds(self, signup: Signup) -> Signup:
        """Returns the current signup, after asking the checkout about a pending one, because its webhook may be lost.

        The checkout is asked at most once in 10 seconds for each signup. If it cannot be, the signup is returned as is.
        """
        if signup.status is not SignupStatus.PENDING or signup.order is None:
            return signup
        try:
            result = await self._limiter.consume(f"checkout-look:{signup.id}", 1, CHECKOUT_POLL_SECONDS)
            if not result.allowed:
                return signup
            await self.record_payment_and_create_workspace_once(
                await self._checkout.get_payment(signup.order)
            )
        except (RateLimiterUnavailable, CheckoutUnavailable):
            return signup
        return await self._signups.find_signup(SignupLookup.ID, signup.id.hex) or signup

    async def _send_welcome_email_or_log_failure(self, account: Account, signup: Signup) -> None:
        reason = f"Your workspace {signup.workspace_name} is ready."
        try:
            if account.password is not None:
                text = f"{reason}\n\nSign in: {self._web_url}\n"
                await self._email_sender.send(EmailMessage(account.email, "Your workspace is ready", text))
                return
            await save_and_send_password_link(
                self._accounts,
                self._email_sender,
                account,
                web_url=self._web_url,
                now=self._clock(),
                first_sentence=reason,
            )
        except EmailSenderUnavailable:
            _log.warning(
                "the welcome e-mail of a new workspace was not sent; its owner can request a password reset"
            )


def _build_workspace_account_and_keys(signup: Signup, now: datetime) -> WorkspaceProvisioning:
    workspace = build_workspace(
        now, name=signup.workspace_name, timezone=signup.timezone, domain=signup.domain, plan=signup.plan
    )
    # Nobody sees these secrets: the owner regenerates the keys in the settings.
    keys = [
        build_write_or_agent_key(workspace, kind, now)
        for kind in (CredentialKind.WRITE, CredentialKind.AGENT)
    ]
    return WorkspaceProvisioning(
        account=Account(new_id(), signup.email, signup.name, now),
        workspace=workspace,
        credentials=tuple((key.credential, sha256_hex(key.secret)) for key in keys),
        paid_at=now,
    )
