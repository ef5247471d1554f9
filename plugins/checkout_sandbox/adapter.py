"""A checkout whose page is ours and whose notices are signed like those of a real one."""

import hmac
import json
import secrets
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.plugin import Forged, Notice, Order, Payment, PaymentState, Placed

HEADER: Final = "sandbox-signature"
TOLERANCE_SECONDS: Final = 300


class Sandbox:
    """Implements the ports `Checkout` and `Simulated`; nothing is kept.

    Notices are signed with a key of this process, so that only its own page can confirm a payment.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    async def place(self, order: Order) -> Placed:
        """Offer the order on the page of the web application."""
        return Placed(_order(order.signup_id), order.page_url)

    async def look(self, order: str) -> Payment:
        """Say that nothing has happened: a payment is known from its notice alone."""
        return Payment(UUID(order.removeprefix("sandbox_")), order, PaymentState.OPEN)

    async def receive(self, notice: Notice) -> Payment | None:
        """Check the signature of a notice.

        Raises:
            Forged: no valid signature, or older than 300 seconds.
        """
        stamp, _, signature = notice.headers.get(HEADER, "").partition(",")
        if not hmac.compare_digest(self._signature(stamp, notice.body), signature.encode()):
            raise Forged
        if abs(notice.received_at.timestamp() - int(stamp)) > TOLERANCE_SECONDS:
            raise Forged
        said = json.loads(notice.body)
        signup_id = UUID(said["signup_id"])
        return Payment(signup_id, _order(signup_id), PaymentState(said["state"]))

    def confirm(self, signup_id: UUID, now: datetime) -> Notice:
        """The notice of a payment."""
        return self._notice(signup_id, PaymentState.PAID, now)

    def refuse(self, signup_id: UUID, now: datetime) -> Notice:
        """The notice of a cancellation."""
        return self._notice(signup_id, PaymentState.CANCELED, now)

    def _notice(self, signup_id: UUID, state: PaymentState, now: datetime) -> Notice:
        body = json.dumps({"signup_id": str(signup_id), "state": state.value}).encode()
        stamp = str(int(now.timestamp()))
        return Notice(body, {HEADER: f"{stamp},{self._signature(stamp, body).decode()}"}, now)

    def _signature(self, stamp: str, body: bytes) -> bytes:
        return hmac.new(self._key, stamp.encode() + b"." + body, "sha256").hexdigest().encode()


def _order(signup_id: UUID) -> str:
    return f"sandbox_{signup_id.hex}"
