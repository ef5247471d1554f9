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
    CheckoutDown,
    Forged,
    Notice,
    Order,
    Payment,
    PaymentState,
    Placed,
)

TOLERANCE_SECONDS: Final = 300
EVENTS: Final = frozenset(
    {
        "checkout.session.completed",
        "checkout.session.async_payment_succeeded",
        "checkout.session.async_payment_failed",
        "checkout.session.expired",
    }
)
"""The events to send to the webhook endpoint."""

_PAID: Final = frozenset({"paid", "no_payment_required"})
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

    async def place(self, order: Order) -> Placed:
        """Create a session; the same order twice, within a day, is one session.

        Raises:
            CheckoutDown: the plan has no price, or Stripe does not answer.
        """
        price = self._settings.prices.get(order.plan)
        if price is None:
            raise CheckoutDown(f"the plan {order.plan} has no price")
        page = hashlib.sha256(order.return_url.encode()).hexdigest()[:16]
        session = await self._ask(
            lambda: self._client.v1.checkout.sessions.create(
                {
                    "mode": "subscription",
                    "line_items": [{"price": price, "quantity": 1}],
                    "customer_email": order.email,
                    "client_reference_id": str(order.signup_id),
                    "metadata": {"plan": order.plan},
                    "success_url": order.return_url,
                    "cancel_url": order.cancel_url,
                },
                {"idempotency_key": f"touchpoint-signup-{order.signup_id}-{page}"},
            )
        )
        if not session.url:
            raise CheckoutDown("Stripe gave no page")
        return Placed(session.id, session.url)

    async def look(self, order: str) -> Payment:
        """Read a session with what it sold.

        Raises:
            CheckoutDown: Stripe does not answer, or the session is not one of ours.
        """
        session = await self._ask(
            lambda: self._client.v1.checkout.sessions.retrieve(order, {"expand": ["line_items"]})
        )
        signup_id = _signup_id(getattr(session, "client_reference_id", None))
        if signup_id is None:
            raise CheckoutDown("the session names no signup")
        return Payment(signup_id, order, self._state(session))

    async def receive(self, notice: Notice) -> Payment | None:
        """Check a webhook, then read its session from the API.

        Raises:
            Forged: no valid signature, or older than 300 seconds.
            CheckoutDown: Stripe does not answer; it sends the webhook again.
        """
        event = self._verified(notice)
        session = event.get("data", {}).get("object", {}) if event.get("type") in EVENTS else {}
        if event.get("account") or _signup_id(session.get("client_reference_id")) is None:
            return None
        return await self.look(str(session.get("id")))

    def _verified(self, notice: Notice) -> dict[str, Any]:
        header = notice.headers.get("stripe-signature", "")
        try:
            stripe.WebhookSignature.verify_header(
                notice.body.decode(), header, self._settings.webhook_secret, tolerance=None
            )
            stamps = [part.partition("=")[2] for part in header.split(",") if part.strip().startswith("t=")]
            if abs(notice.received_at.timestamp() - int(stamps[0])) > TOLERANCE_SECONDS:
                raise Forged
            event = json.loads(notice.body)
        except (stripe.SignatureVerificationError, ValueError):
            raise Forged from None
        return event if isinstance(event, dict) else {}

    def _state(self, session: stripe.checkout.Session) -> PaymentState:
        if session.status == "expired":
            return PaymentState.CANCELED
        if session.status != "complete" or session.payment_status not in _PAID:
            return PaymentState.OPEN
        named: Any = session.metadata
        price = self._settings.prices.get(named["plan"]) if named and "plan" in named else None
        sold = [item.price and item.price.id for item in (session.line_items or [])]
        if price is None or sold != [price]:
            _log.warning("a paid session sold something else than its plan; no workspace was made")
            return PaymentState.OPEN
        return PaymentState.PAID

    async def _ask(self, call: Callable[[], _Answer]) -> _Answer:
        try:
            return await asyncio.to_thread(call)
        except stripe.StripeError as fault:
            # The text of a fault may repeat a key or an address.
            raise CheckoutDown(type(fault).__name__) from None


def _signup_id(reference: object) -> UUID | None:
    try:
        return UUID(str(reference))
    except ValueError:
        return None
