"""The checkout without money keeps the promises of a real one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from plugins import checkout_sandbox
from service_core.access.signup.models import CheckoutRequest, InvalidWebhookSignature, SignupPaymentState
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.ids import new_id

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)


@pytest.fixture
def sandbox(tmp_path):
    return collect_plugins_into_registry(
        [("sandbox", checkout_sandbox)], discover_entry_points=False
    ).open_adapter("checkout", "sandbox://", base_folder=tmp_path)


async def test_order_is_paid_on_a_page_of_the_web_application(sandbox):
    order = CheckoutRequest(
        new_id(), "ann@example.com", "growth", NOW, "https://app/checkout/1", "https://app/w", "https://app/c"
    )
    placed = await sandbox.create_session(order)
    assert placed.url == "https://app/checkout/1"
    assert (await sandbox.get_payment(placed.order_id)).signup_id == order.signup_id
    assert (await sandbox.get_payment(placed.order_id)).state is SignupPaymentState.OPEN


async def test_signed_notices_are_accepted_for_300_seconds(sandbox):
    signup_id = new_id()
    for notice, state in (
        (sandbox.confirm_payment(signup_id, NOW), SignupPaymentState.PAID),
        (sandbox.cancel_payment(signup_id, NOW), SignupPaymentState.CANCELED),
    ):
        late = replace(notice, received_at=NOW + timedelta(seconds=300))
        payment = await sandbox.receive_webhook(late)
        assert (payment.signup_id, payment.state) == (signup_id, state)
        with pytest.raises(InvalidWebhookSignature):
            await sandbox.receive_webhook(replace(notice, received_at=NOW + timedelta(seconds=301)))


async def test_payment_is_bound_to_its_order(sandbox):
    one, other = new_id(), new_id()
    notice = sandbox.confirm_payment(one, NOW)
    forged = replace(notice, body=notice.body.replace(str(one).encode(), str(other).encode()))
    with pytest.raises(InvalidWebhookSignature):
        await sandbox.receive_webhook(forged)
