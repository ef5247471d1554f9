"""Orders as Stripe Checkout sessions. A webhook is a reason to look; what counts is what the API says."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar
from uuid import UUID

import stripe

from plugins.checkout_stripe.settings import StripeSettings
from service_core.plugin import (
    CheckoutRequest,
    CheckoutSession,
    CheckoutUnavailable,
    CheckoutWebhook,
    InvalidWebhookSignature,
    SignupPayment,
    SignupPaymentState,
)

TOLERANCE_SECONDS: Final = 300
WEBHOOK_EVENTS: Final = frozenset(
    {
        "checkout.session.completed",
        "checkout.session.async_payment_succeeded",
        "checkout.session.async_payment_failed",
        "checkout.session.expired",
    }
)
"""The events to send to the webhook endpoint."""

_PAID_STATUSES: Final = frozenset({"paid", "no_payment_required"})
_Answer = TypeVar("_Answer")
_log: Final = logging.getLogger("touchpoint.checkout")


class StripeCheckout:
    """Implements the port `Checkout` with the synchronous client, called in threads."""

    def __init__(self, settings: StripeSettings) -> None:
        self._settings = settings
        self._client = stripe.StripeClient(
            settings.password,
            base_addresses={"api": settings.address},
            http_client=stripe.RequestsClient(timeout=settings.seconds),
            max_network_retries=1,
        )

    async def create_session(self, request: CheckoutRequest) -> CheckoutSession:
        """Create a session; the same order twice, within a day, is one session.

        Raises:
            CheckoutUnavailable: the plan has no price, or Stripe does not answer.
        """
        price = self._settings.price_by_sold_plan.get(request.plan)
        if price is None:
            raise CheckoutUnavailable(f"the plan {request.plan} has no price")
        page = hashlib.sha256(request.return_url.encode()).hexdigest()[:16]
        session = await self._call_api_in_thread(
            lambda: self._client.v1.checkout.sessions.create(
                {
                    "mode": "subscription",
                    "line_items": [{"price": price, "quantity": 1}],
                    "customer_email": request.email,
                    "client_reference_id": str(request.signup_id),
                    "metadata": {"plan": request.plan},
                    "success_url": request.return_url,
                    "cancel_url": request.cancel_url,
                },
                {"idempotency_key": f"touchpoint-signup-{request.signup_id}-{page}"},
            )
        )
        if not session.url:
            raise CheckoutUnavailable("Stripe gave no page")
        return CheckoutSession(session.id, session.url)

    async def get_payment(self, order_id: str) -> SignupPayment:
        """Read a session with what it sold.

        Raises:
            CheckoutUnavailable: Stripe does not answer, or the session is not one of ours.
        """
        session = await self._call_api_in_thread(
            lambda: self._client.v1.checkout.sessions.retrieve(order_id, {"expand": ["line_items"]})
        )
        signup_id = _parse_signup_id(getattr(session, "client_reference_id", None))
        if signup_id is None:
            raise CheckoutUnavailable("the session names no signup")
        return SignupPayment(signup_id, order_id, self._payment_state_if_plan_was_sold(session))

    async def receive_webhook(self, webhook: CheckoutWebhook) -> SignupPayment | None:
        """Check a webhook, then read its session from the API.

        Raises:
            InvalidWebhookSignature: no valid signature, or older than 300 seconds.
            CheckoutUnavailable: Stripe does not answer; it sends the webhook again.
        """
        event = self._verify_and_parse_event(webhook)
        session = event.get("data", {}).get("object", {}) if event.get("type") in WEBHOOK_EVENTS else {}
        if event.get("account") or _parse_signup_id(session.get("client_reference_id")) is None:
            return None
        return await self.get_payment(str(session.get("id")))

    def _verify_and_parse_event(self, notice: CheckoutWebhook) -> dict[str, Any]:
        header = notice.headers.get("stripe-signature", "")
        try:
            stripe.WebhookSignature.verify_header(
                notice.body.decode(), header, self._settings.webhook_secret, tolerance=None
            )
            stamps = [part.partition("=")[2] for part in header.split(",") if part.strip().startswith("t=")]
            if abs(notice.received_at.timestamp() - int(stamps[0])) > TOLERANCE_SECONDS:
                raise InvalidWebhookSignature
            event = json.loads(notice.body)
        except (stripe.SignatureVerificationError, ValueError):
            raise InvalidWebhookSignature from None
        return event if isinstance(event, dict) else {}

    def _payment_state_if_plan_was_sold(self, session: stripe.checkout.Session) -> SignupPaymentState:
        if session.status == "expired":
            return SignupPaymentState.CANCELED
        if session.status != "complete" or session.payment_status not in _PAID_STATUSES:
            return SignupPaymentState.OPEN
        named: Any = session.metadata
        price = self._settings.price_by_sold_plan.get(named["plan"]) if named and "plan" in named else None
        sold = [item.price and item.price.id for item in (session.line_items or [])]
        if price is None or sold != [price]:
            _log.warning("a paid session sold something else than its plan; no workspace was made")
            return SignupPaymentState.OPEN
        return SignupPaymentState.PAID

    async def _call_api_in_thread(self, api_call: Callable[[], _Answer]) -> _Answer:
        try:
            return await asyncio.to_thread(api_call)
        except stripe.StripeError as fault:
            # The text of a fault may repeat a key or an address.
            raise CheckoutUnavailable(type(fault).__name__) from None


def _parse_signup_id(reference: object) -> UUID | None:
    try:
        return UUID(str(reference))
    except ValueError:
        return None
