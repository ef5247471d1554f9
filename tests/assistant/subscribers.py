"""Customers of the club, by what their payment provider sends."""

from datetime import timedelta

from tests.assistant.calendar_days import NOW, local


class Subscriber:
    """A customer of the club, by what Stripe sends."""

    def __init__(self, number, day, messages):
        self.number, self.messages = number, messages
        self.start = local(day, 13, number)
        self.yearly = number % 5 == 4
        self.plan, self.price = ("club_year", 9600) if self.yearly else ("club", 1000)
        self.trial = number % 3 == 1

    def subscribe(self):
        """The story of the subscriber: trial or not, renewals, an upgrade, a failed payment, or the end."""
        days = 14 if self.trial else 0
        self._state(
            self.start,
            "created",
            "trialing" if self.trial else "active",
            self.start + timedelta(days=days or self._period),
        )
        if not self.trial:
            self._invoice(self.start, "subscription_create")
        elif self.number % 2:
            self._state(
                self.start + timedelta(days=14), "deleted", "canceled", self.start + timedelta(days=14)
            )
            return
        else:
            self._state(
                self.start + timedelta(days=14),
                "updated",
                "active",
                self.start + timedelta(days=14 + self._period),
                "trialing",
            )
            self._invoice(self.start + timedelta(days=14), "subscription_cycle")
        self._renew(self.start + timedelta(days=days + self._period), days)

    @property
    def _period(self):
        return 365 if self.yearly else 30

    def _renew(self, at, days):
        while at < NOW:
            if self.number == 6:
                self._state(at, "deleted", "canceled", at)
                return
            if self.number == 3:
                self._fail(at)
                self._state(
                    at + timedelta(seconds=5), "updated", "past_due", at + timedelta(days=30), "active"
                )
                return
            if self.number == 5 and self.plan == "club":
                self.plan, self.price = "club_plus", 2500
                self._state(at, "updated", "active", at + timedelta(days=30))
            else:
                self._state(at, "updated", "active", at + timedelta(days=30))
            self._invoice(at + timedelta(seconds=5), "subscription_cycle")
            at += timedelta(days=30)

    def _send(self, kind, at, about):
        if at < NOW:
            id_ = f"evt_{self.number}_{len(self.messages)}"
            self.messages.append(
                {
                    "id": id_, "object": "event", "created": int(at.timestamp()), "livemode": True, "type": kind,
                    "data": {"object": about}, "api_version": "2025-03-31.basil",
                }
            )  # fmt: skip

    def _state(self, at, verb, status, period_end, previous=None):
        interval = "year" if self.yearly else "month"
        price = {
            "id": f"price_{self.plan}", "nickname": self.plan, "product": f"prod_{self.plan}", "unit_amount": self.price,
            "currency": "eur", "recurring": {"interval": interval, "interval_count": 1},
        }  # fmt: skip
        end = int(period_end.timestamp())
        about = {
            "object": "subscription", "id": f"sub_{self.number}", "status": status, "currency": "eur",
            "customer": f"cus_{self.number}", "start_date": int(self.start.timestamp()),
            "items": {"data": [{"price": price, "quantity": 1, "current_period_end": end}]},
            "trial_end": int((self.start + timedelta(days=14)).timestamp()) if self.trial else None,
            "canceled_at": int(at.timestamp()) if verb == "deleted" else None,
            "ended_at": int(at.timestamp()) if verb == "deleted" else None,
        }  # fmt: skip
        self._send(f"customer.subscription.{verb}", at, about)

    def _invoice(self, at, reason):
        self._send(
            "invoice.payment_succeeded", at, self._invoice_object(at, reason) | {"amount_paid": self.price}
        )

    def _fail(self, at):
        self._send(
            "invoice.payment_failed",
            at,
            self._invoice_object(at, "subscription_cycle") | {"amount_due": self.price, "attempt_count": 1},
        )

    def _invoice_object(self, at, reason):
        return {
            "object": "invoice", "id": f"in_{self.number}_{int(at.timestamp())}", "currency": "eur", "customer": f"cus_{self.number}",
            "billing_reason": reason, "subtotal": self.price, "total_taxes": [], "shipping_cost": None,
            "total_discount_amounts": [], "parent": {"subscription_details": {"subscription": f"sub_{self.number}"}},
        }  # fmt: skip
