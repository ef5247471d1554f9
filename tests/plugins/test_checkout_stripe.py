"""Stripe Checkout against a local server that speaks Stripe's wire format; the client is the real one."""

import asyncio
import hashlib
import hmac
import json
import logging
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from plugins import checkout_stripe
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.fixed_window import FixedWindowCounter
from service_core.access.signup.create import SignupCreator, SignupInput
from service_core.access.signup.models import (
    CheckoutRequest,
    CheckoutUnavailable,
    CheckoutWebhook,
    InvalidWebhookSignature,
    SignupPaymentState,
)
from service_core.access.signup.payments import SignupPayments
from service_core.access.signup.ports import SignupLookup
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import Forbidden, StartupError
from service_core.kernel.ids import new_id
from service_core.testing.memory.access import MemoryAccess

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
KEY, SIGNING = "sk_test_planted_key", "whsec_planted_secret"
REGISTRY = collect_plugins_into_registry([("checkout_stripe", checkout_stripe)], discover_entry_points=False)


class StubStripeHandler(BaseHTTPRequestHandler):
    """Enough of api.stripe.com: sessions are made and read, form-encoded in and JSON out."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        form = {name: values[-1] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
        account = self.server.account
        account.calls.append(("POST", self.path, form, dict(self.headers)))
        if not self._known():
            return
        repeated = account.once.get(self.headers["Idempotency-Key"])
        session = repeated or account.create(form)
        account.once[self.headers["Idempotency-Key"]] = session
        self._answer(200, session)

    def do_GET(self):
        parts = urlsplit(self.path)
        self.server.account.calls.append(("GET", self.path, parse_qs(parts.query), dict(self.headers)))
        session = self.server.account.sessions.get(parts.path.rpartition("/")[2])
        if not self._known():
            return
        if session is None:
            self._answer(404, {"error": {"type": "invalid_request_error", "message": "No such session"}})
        else:
            self._answer(200, session)

    def _known(self):
        account = self.server.account
        if account.down:
            self._answer(503, {"error": {"type": "api_error", "message": "down"}})
        elif self.headers["Authorization"] != f"Bearer {KEY}":
            self._answer(401, {"error": {"type": "invalid_request_error", "message": f"Invalid: {KEY}"}})
        else:
            return True
        return False

    def _answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Stripe-Should-Retry", "false")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class StubStripeServer(ThreadingHTTPServer):
    """Takes as many calls at once as a test makes: one that finds no place waits for seconds before it knocks again."""

    daemon_threads = True
    request_queue_size = 128


class StripeAccount:
    """What Stripe remembers."""

    def __init__(self):
        self.sessions, self.once, self.calls, self.down = {}, {}, [], False

    def create(self, form):
        session_id = f"cs_test_{len(self.sessions) + 1}"
        price = {"id": form["line_items[0][price]"], "object": "price"}
        item = {"id": "li_1", "object": "item", "quantity": 1, "price": price}
        self.sessions[session_id] = {
            "id": session_id,
            "object": "checkout.session",
            "status": "open",
            "payment_status": "unpaid",
            "client_reference_id": form["client_reference_id"],
            "metadata": {"plan": form["metadata[plan]"]},
            "url": f"https://checkout.stripe.com/c/pay/{session_id}",
            "line_items": {"object": "list", "data": [item], "has_more": False, "url": "/v1/line_items"},
        }
        return self.sessions[session_id]

    def change(self, session_id, **fields):
        self.sessions[session_id] |= fields

    def event(self, session_id, kind="checkout.session.completed", **more):
        session = {name: value for name, value in self.sessions[session_id].items() if name != "line_items"}
        return {"id": "evt_1", "object": "event", "type": kind, "data": {"object": session}, **more}


def signed_webhook(content, at=NOW, secret=SIGNING, received=None):
    body = json.dumps(content).encode()
    stamp = int(at.timestamp())
    mark = hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    return CheckoutWebhook(body, {"stripe-signature": f"t={stamp},v1={mark}"}, received or at)


@contextmanager
def serve_stripe(account):
    server = StubStripeServer(("127.0.0.1", 0), StubStripeHandler)
    server.account = account
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def account():
    return StripeAccount()


def open_checkout(port, folder, key=KEY):
    url = (
        f"stripe://:{key}@127.0.0.1:{port}?tls=false&webhook_secret={SIGNING}"
        "&starter=price_starter&growth=price_growth&seconds=30"
    )
    return REGISTRY.open_adapter("checkout", url, base_folder=folder)


@pytest.fixture
def checkout(account, tmp_path):
    with serve_stripe(account) as port:
        yield open_checkout(port, tmp_path)


def make_order(plan="growth", return_url="https://app.example/welcome?token=t"):
    return CheckoutRequest(
        signup_id=new_id(),
        email="ann@example.com",
        plan=plan,
        expires_at=NOW + timedelta(days=7),
        page_url="https://app.example/checkout/1",
        return_url=return_url,
        cancel_url="https://app.example/checkout/canceled",
    )


async def place_order(account, checkout, **fields):
    wanted = make_order()
    got = await checkout.create_session(wanted)
    account.change(got.order_id, **fields)
    return wanted, got


PAID = {"status": "complete", "payment_status": "paid"}


async def test_order_becomes_a_subscription_session_with_its_price(account, checkout):
    wanted = make_order()
    got = await checkout.create_session(wanted)
    assert (got.order_id, got.url) == ("cs_test_1", "https://checkout.stripe.com/c/pay/cs_test_1")
    _, path, form, headers = account.calls[0]
    assert path == "/v1/checkout/sessions"
    assert form == {
        "mode": "subscription",
        "line_items[0][price]": "price_growth",
        "line_items[0][quantity]": "1",
        "customer_email": "ann@example.com",
        "client_reference_id": str(wanted.signup_id),
        "metadata[plan]": "growth",
        "success_url": wanted.return_url,
        "cancel_url": wanted.cancel_url,
    }
    assert str(wanted.signup_id) in headers["Idempotency-Key"]


async def test_repeated_order_creates_one_session(account, checkout):
    wanted = make_order()
    assert await checkout.create_session(wanted) == await checkout.create_session(wanted)
    assert await checkout.create_session(replace(wanted, return_url="https://app.example/welcome?token=u"))
    assert len(account.sessions) == 2


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, SignupPaymentState.OPEN),
        (PAID, SignupPaymentState.PAID),
        ({"status": "complete", "payment_status": "no_payment_required"}, SignupPaymentState.PAID),
        ({"status": "complete", "payment_status": "unpaid"}, SignupPaymentState.OPEN),
        ({"status": "expired"}, SignupPaymentState.CANCELED),
        ({**PAID, "line_items": {"object": "list", "data": []}}, SignupPaymentState.OPEN),
        ({**PAID, "metadata": {"plan": "starter"}}, SignupPaymentState.OPEN),
        ({**PAID, "metadata": {}}, SignupPaymentState.OPEN),
    ],
)
async def test_session_status_is_mapped_to_the_payment_state(account, checkout, fields, state):
    wanted, got = await place_order(account, checkout, **fields)
    payment = await checkout.get_payment(got.order_id)
    assert (payment.signup_id, payment.order_id, payment.state) == (wanted.signup_id, got.order_id, state)
    assert account.calls[-1][2] == {"expand[0]": ["line_items"]}


async def test_signed_webhook_is_confirmed_through_the_api(account, checkout):
    wanted, got = await place_order(account, checkout)
    assert (
        await checkout.receive_webhook(signed_webhook(account.event(got.order_id)))
    ).state is SignupPaymentState.OPEN
    account.change(got.order_id, **PAID)
    payment = await checkout.receive_webhook(signed_webhook(account.event(got.order_id)))
    assert (payment.signup_id, payment.state) == (wanted.signup_id, SignupPaymentState.PAID)


@pytest.mark.parametrize(
    "forge",
    [
        lambda notice: replace(notice, headers={}),
        lambda notice: replace(notice, headers={"stripe-signature": "t=now,v1=x"}),
        lambda notice: replace(notice, headers={"stripe-signature": "v1=x"}),
        lambda notice: replace(notice, body=notice.body.replace(b"open", b"paid")),
        lambda notice: replace(notice, body=b"\xff"),
        lambda notice: replace(notice, received_at=NOW + timedelta(seconds=301)),
        lambda notice: replace(notice, received_at=NOW - timedelta(seconds=301)),
    ],
    ids=["unsigned", "nonsense", "no time", "altered", "no text", "too old", "from the future"],
)
async def test_forged_webhook_is_refused_without_api_requests(account, checkout, forge):
    _, got = await place_order(account, checkout)
    request = len(account.calls)
    with pytest.raises(InvalidWebhookSignature):
        await checkout.receive_webhook(forge(signed_webhook(account.event(got.order_id))))
    assert len(account.calls) == request


async def test_webhook_with_another_secret_is_refused_and_one_of_300_seconds_is_not(account, checkout):
    _, got = await place_order(account, checkout)
    with pytest.raises(InvalidWebhookSignature):
        await checkout.receive_webhook(signed_webhook(account.event(got.order_id), secret="whsec_other"))
    assert await checkout.receive_webhook(
        signed_webhook(account.event(got.order_id), received=NOW + timedelta(seconds=300))
    )


@pytest.mark.parametrize(
    "alter",
    [
        lambda event: event | {"type": "invoice.paid"},
        lambda event: event | {"account": "acct_other"},
        lambda event: event | {"data": {"object": {"id": "cs_x", "client_reference_id": None}}},
        lambda _: [],
    ],
    ids=["another event", "another account", "another checkout", "no event"],
)
async def test_irrelevant_webhook_is_accepted_without_api_requests(account, checkout, alter):
    _, got = await place_order(account, checkout, **PAID)
    request = len(account.calls)
    assert await checkout.receive_webhook(signed_webhook(alter(account.event(got.order_id)))) is None
    assert len(account.calls) == request


async def test_unavailable_api_is_reported_without_secrets(account, checkout, tmp_path):
    _, got = await place_order(account, checkout)
    account.down = True
    for call in (
        checkout.get_payment(got.order_id),
        checkout.create_session(make_order()),
        checkout.receive_webhook(signed_webhook(account.event(got.order_id))),
    ):
        with pytest.raises(CheckoutUnavailable) as caught:
            await call
        assert KEY not in str(caught.value)
    account.down = False
    with pytest.raises(CheckoutUnavailable):
        await checkout.get_payment("cs_test_unknown")
    with serve_stripe(account) as port:
        with pytest.raises(CheckoutUnavailable) as caught:
            await open_checkout(port, tmp_path, key="sk_wrong").get_payment(got.order_id)
        assert KEY not in str(caught.value)


async def test_plan_without_a_price_is_not_sold(checkout):
    with pytest.raises(CheckoutUnavailable, match="scale"):
        await checkout.create_session(make_order("scale"))


@pytest.mark.parametrize(
    "url", ["stripe://", "stripe://:sk@api.stripe.com", "stripe://api.stripe.com?webhook_secret=x"]
)
def test_url_without_its_secrets_stops_the_start(url, tmp_path):
    with pytest.raises(StartupError):
        REGISTRY.open_adapter("checkout", url, base_folder=tmp_path)


def test_missing_library_stops_the_start_with_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "stripe", None)
    monkeypatch.delitem(sys.modules, "plugins.checkout_stripe.adapter", raising=False)
    with pytest.raises(StartupError, match=r"touchpoint-analytics\[stripe\]"):
        open_checkout(1, tmp_path)


class SilentMailer:
    async def send(self, message):
        raise EmailSenderUnavailable


@pytest.fixture
def signups(checkout):
    """Signups sold by this checkout."""
    store, limiter = MemoryAccess(), FixedWindowCounter(lambda: NOW)

    class Limits:
        async def consume(self, key, limit, window_seconds):
            return limiter.consume(key, limit, window_seconds)

    applications = SignupCreator(
        store.signups,
        checkout,
        SilentMailer(),
        limiter=Limits(),
        clock=lambda: NOW,
        mode="checkout",
        web_url="https://app.example",
    )
    settlement = SignupPayments(
        store.signups,
        checkout,
        store.accounts,
        SilentMailer(),
        limiter=Limits(),
        clock=lambda: NOW,
        web_url="https://app.example",
    )
    return store, applications, settlement


async def test_twenty_webhooks_and_polls_create_one_workspace(account, signups, caplog):
    store, applications, settlement = signups
    with caplog.at_level(logging.DEBUG):
        applied = await applications.create_checkout_or_send_verification(
            SignupInput(email="ann@example.com", plan="growth"), "203.0.113.7"
        )
        signup = await store.signups.find_signup(SignupLookup.ID, applied.signup.id.hex)
        account.change(signup.order, **PAID)
        kinds = ["checkout.session.completed", "checkout.session.async_payment_succeeded"]
        result = await asyncio.gather(
            *(
                settlement.verify_and_record_webhook(
                    signed_webhook(account.event(signup.order, kinds[n % 2]))
                )
                for n in range(20)
            ),
            *(settlement.poll_pending_payment_once_per_10_seconds(signup) for _ in range(5)),
        )
        with pytest.raises(Forbidden):
            await settlement.verify_and_record_webhook(
                signed_webhook(account.event(signup.order), secret="whsec_other")
            )
    assert len(await store.credentials.list_workspaces()) == 1
    assert sum(outcome is True for outcome in result) <= 1
    assert (await store.credentials.list_workspaces())[0].plan == "growth"
    assert KEY not in caplog.text
    assert SIGNING not in caplog.text
    assert "ann@example.com" not in caplog.text


async def test_paid_session_with_another_price_is_ignored(account, signups):
    store, applications, settlement = signups
    applied = await applications.create_checkout_or_send_verification(
        SignupInput(email="ann@example.com", plan="growth"), None
    )
    signup = await store.signups.find_signup(SignupLookup.ID, applied.signup.id.hex)
    account.change(signup.order, **PAID, metadata={"plan": "starter"})
    assert not await settlement.verify_and_record_webhook(signed_webhook(account.event(signup.order)))
    assert await store.credentials.list_workspaces() == []
