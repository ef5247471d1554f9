"""A checkout whose page is ours and whose notices are signed like those of a real one."""

import hmac
import json
import secrets
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.plugin import (
    CheckoutRequest,
    CheckoutSession,
    CheckoutWebhook,
    InvalidWebhookSignature,
    SignupPayment,
    SignupPaymentState,
)

SIGNATURE_HEADER: Final = "sandbox-signature"
TOLERANCE_SECONDS: Final = 300


class SandboxCheckoutAdapter:
    """Implements the port `Checkout` and its simulation of payments; it stores nothing.

    Notices are signed with a key of this process, so that only its own page can confirm a payment.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    async def create_session(self, request: CheckoutRequest) -> CheckoutSession:
        """Offer the order on the page of the web application."""
        return CheckoutSession(_order_id(request.signup_id), request.page_url)

    async def get_payment(self, order_id: str) -> SignupPayment:
        """Say that nothing has happened: a payment is known from its notice alone."""
        return SignupPayment(UUID(order_id.removeprefix("sandbox_")), order_id, SignupPaymentState.OPEN)

    async def receive_webhook(self, webhook: CheckoutWebhook) -> SignupPayment | None:
        """Check the signature of a notice.

        Raises:
            InvalidWebhookSignature: no valid signature, or older than 300 seconds.
        """
        stamp, _, signature = webhook.headers.get(SIGNATURE_HEADER, "").partition(",")
        if not hmac.compare_digest(self._signature(stamp, webhook.body), signature.encode()):
            raise InvalidWebhookSignature
        if abs(webhook.received_at.timestamp() - int(stamp)) > TOLERANCE_SECONDS:
            raise InvalidWebhookSignature
        payload = json.loads(webhook.body)
        signup_id = UUID(payload["signup_id"])
        return SignupPayment(signup_id, _order_id(signup_id), SignupPaymentState(payload["state"]))

    def confirm_payment(self, signup_id: UUID, now: datetime) -> CheckoutWebhook:
        """The notice of a payment."""
        return self._signed_webhook(signup_id, SignupPaymentState.PAID, now)

    def cancel_payment(self, signup_id: UUID, now: datetime) -> CheckoutWebhook:
        """The notice of a cancellation."""
        return self._signed_webhook(signup_id, SignupPaymentState.CANCELED, now)

    def _signed_webhook(self, signup_id: UUID, state: SignupPaymentState, now: datetime) -> CheckoutWebhook:
        body = json.dumps({"signup_id": str(signup_id), "state": state.value}).encode()
        stamp = str(int(now.timestamp()))
        return CheckoutWebhook(
            body, {SIGNATURE_HEADER: f"{stamp},{self._signature(stamp, body).decode()}"}, now
        )

    def _signature(self, stamp: str, body: bytes) -> bytes:
        return hmac.new(self._key, stamp.encode() + b"." + body, "sha256").hexdigest().encode()


def _order_id(signup_id: UUID) -> str:
    return f"sandbox_{signup_id.hex}"
