"""Stripe and Shopify on the loopback, as far as they are asked and send: what happened, told both ways."""

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta

from plugins.revenue_shopify.adapter import Shopify
from plugins.revenue_stripe.adapter import Stripe
from service_core.analytics.connections.models import (
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.commerce.providers.signatures import hmac_sha256
from service_core.testing.fake_platform import FakePlatform, FakeResponse, too_many_calls
from tests.analytics.deployment import NOW

SECRET = "planted_in_a_test"
POLLED_FIELDS = timedelta(days=30)
"""How long Stripe keeps events."""


def _at(moment):
    return int(moment.timestamp())


class FakeStripe(FakePlatform):
    """Payments, a refund and a subscription, as events: the latest first, a few to a page."""

    id, account, key = "stripe", "acct_1", "api_key"
    path, page = "/v1", 2

    def __init__(self, clock=lambda: NOW):
        super().__init__(self.list, too_many_calls({"error": {"message": "Too many requests"}}), self.refuse)
        self.clock, self.happened, self.transactions = clock, [], []

    def provider(self):
        return Stripe(self.url + self.path, self.clock)

    def sell(self, number, at):
        """A payment, or what else happens, by its number."""
        payment = {
            "object": "payment_intent", "id": f"pi_{number}", "amount_received": 1000 + number, "currency": "eur",
            "customer": f"cus_{number}",
        }  # fmt: skip
        subscription = {
            "object": "subscription", "id": f"sub_{number}", "status": "active", "currency": "eur",
            "customer": f"cus_{number}", "start_date": _at(at), "items": {"data": []},
        }  # fmt: skip
        charge = {
            "object": "charge", "id": f"ch_{number}", "amount_refunded": 100 + number, "currency": "eur",
            "payment_intent": f"pi_{number}",
        }  # fmt: skip
        kind, about = [
            ("payment_intent.succeeded", payment),
            ("customer.subscription.created", subscription),
            ("charge.refunded", charge),
        ][number % 3]
        self.happened.append(
            {
                "id": f"evt_{number}",
                "object": "event",
                "created": _at(at),
                "livemode": True,
                "type": kind,
                "data": {"object": about},
                "api_version": "2025-03-31.basil",
            }
        )

    def webhook(self, place):
        """What the webhook of something that happened sends: body, and headers."""
        body = json.dumps(self.happened[place]).encode()
        stamp = str(_at(self.clock()))
        digest = hmac_sha256(SECRET, f"{stamp}.".encode() + body).hex()
        return body, [("stripe-signature", f"t={stamp},v1={digest}")]

    def list(self, asked):
        if asked.headers["authorization"] != f"Bearer {self.key}":
            return self.refuse(asked)
        assert asked.query["limit"] == "100"
        lists = {f"{self.path}/events": self.happened, f"{self.path}/balance_transactions": self.transactions}
        since = max(int(asked.query.get("created[gte]", 0)), _at(self.clock() - POLLED_FIELDS))
        found = [one for one in lists[asked.path] if one["created"] >= since]
        found.sort(key=lambda one: (one["created"], one["id"]), reverse=True)
        after = asked.query.get("starting_after")
        if after:
            found = found[1 + [one["id"] for one in found].index(after) :]
        return FakeResponse(
            {
                "object": "list",
                "url": "/v1/events",
                "data": found[: self.page],
                "has_more": len(found) > self.page,
            }
        )

    def refuse(self, _asked):
        return FakeResponse(
            {"error": {"type": "invalid_request_error", "message": "Invalid API Key provided: api_key"}}, 401
        )


class FakeShopify(FakePlatform):
    """Orders, as they stand now: paid, given back, fulfilled."""

    id, account, key = "shopify", "example.myshopify.com", "access_token"
    path, page = "/example.myshopify.com/admin/api/2025-10", 2

    def __init__(self, clock=lambda: NOW):
        busy = too_many_calls({"errors": "Exceeded 2 calls per second for api client."})
        super().__init__(self.answer_to, busy, self.refuse)
        self.clock, self.orders, self.happened, self.places = clock, {}, [], {}
        self.transactions = None

    def provider(self):
        return Shopify(self.url + "/{shop}/admin/api/2025-10", self.clock)

    def sell(self, number, at):
        """An order is paid, or another thing happens to it, by its number."""
        order = self.orders.setdefault(
            number // 3,
            {
                "id": 5000 + number // 3, "name": f"#{number}", "currency": "EUR", "financial_status": "paid",
                "subtotal_price": "20.00", "total_line_items_price": "20.00", "total_tax": "0.00",
                "fulfillment_status": None, "refunds": [], "fulfillments": [],
                "created_at": at.isoformat(), "processed_at": at.isoformat(), "paid_at": at,
            },
        )  # fmt: skip
        order["updated_at"] = at.isoformat()
        about, topic = order, "orders/paid"
        if number % 3 == 1:
            about, topic = self._refund(order, number, at), "refunds/create"
            order["refunds"].append(about)
            order["financial_status"] = "partially_refunded"
        elif number % 3 == 2:
            topic = "orders/fulfilled"
            order["fulfillment_status"] = "fulfilled"
            order["fulfillments"].append({"id": number, "status": "success", "created_at": at.isoformat()})
        self.happened.append((topic, json.loads(json.dumps(about, default=str))))

    @staticmethod
    def _refund(order, number, at):
        money = {"kind": "refund", "status": "success", "amount": "5.00", "currency": "EUR"}
        return {
            "id": 6000 + number, "order_id": order["id"], "created_at": at.isoformat(),
            "transactions": [money], "refund_line_items": [],
        }  # fmt: skip

    def webhook(self, place):
        topic, about = self.happened[place]
        body = json.dumps(about).encode()
        signature = b64encode(hmac_sha256(SECRET, body)).decode()
        return body, [("x-shopify-topic", topic), ("x-shopify-hmac-sha256", signature)]

    def answer_to(self, asked):
        if asked.headers["x-shopify-access-token"] != self.key:
            return self.refuse(asked)
        what = asked.path.removeprefix(self.path)
        if what == "/orders.json":
            return self._listed(asked)
        if what == "/shopify_payments/balance/transactions.json":
            missing = FakeResponse({"errors": "Not Found"}, 404)
            return missing if self.transactions is None else FakeResponse({"transactions": self.transactions})
        order = next(one for one in self.orders.values() if what == f"/orders/{one['id']}/transactions.json")
        sale = {"kind": "sale", "status": "success", "processed_at": order["paid_at"].isoformat()}
        failed = {"kind": "sale", "status": "failure", "processed_at": self.clock().isoformat()}
        return FakeResponse({"transactions": [failed, sale]})

    def _listed(self, asked):
        if "page_info" in asked.query:
            assert asked.query.keys() == {"limit", "page_info"}
            found = self.places[asked.query["page_info"]]
        else:
            assert (asked.query["status"], asked.query["limit"]) == ("any", "250")
            since = datetime.fromisoformat(asked.query.get("updated_at_min", "2020-01-01T00:00:00+00:00"))
            orders = (
                one for one in self.orders.values() if datetime.fromisoformat(one["updated_at"]) >= since
            )
            found = [{name: result for name, result in one.items() if name != "paid_at"} for one in orders]
        headers = {}
        if len(found) > self.page:
            place = f"p{len(self.places)}"
            self.places[place] = found[self.page :]
            # Whoever follows the address instead of its place would send the token there.
            headers = {
                "Link": f'<http://elsewhere.invalid/orders.json?limit=250&page_info={place}>; rel="next"'
            }
        return FakeResponse({"orders": found[: self.page]}, headers=headers)

    def refuse(self, _asked):
        return FakeResponse({"errors": "[API] Invalid API key or access token"}, 401)


FAKE_PROVIDERS = (FakeStripe, FakeShopify)


async def connect_provider(webhook_client, client, provider_api, *, key=True):
    """Connects a provider, with a credential to ask it or without."""
    connection = Connection(
        client.workspace.id, provider_api.id, ProviderKind.REVENUE, ConnectionStatus.PENDING, NOW.astimezone(UTC),
        (ConnectedAccount(provider_api.account),),
    )  # fmt: skip
    await webhook_client.ports.workspace.connections.save_connection_keeping_created_at(connection)
    secrets = {"webhook_secret": SECRET} | ({provider_api.key: provider_api.key} if key else {})
    await webhook_client.ports.connection_secrets.replace_or_delete_secrets(
        client.workspace.id, provider_api.id, secrets
    )
