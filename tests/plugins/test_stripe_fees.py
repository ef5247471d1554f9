"""Balance transactions of Stripe: the fee of a charge in its own currency, and when it counts."""

from datetime import UTC, datetime

import pytest

from plugins.revenue_stripe.fees import map_balance_transaction
from service_core.plugin import MessageFields

PAID_AT, REFUNDED_AT = 1_783_400_000, 1_783_500_000
CHARGE = {
    "id": "ch_1", "object": "charge", "amount": 10_000, "currency": "eur", "created": PAID_AT, "customer": "cus_1",
    "payment_intent": "pi_1",
}  # fmt: skip


def fee_message(source, amount, **fields):
    transaction = {
        "id": "txn_1",
        "created": REFUNDED_AT,
        "amount": amount,
        "currency": "usd",
        "source": source,
    }
    return map_balance_transaction(MessageFields(transaction | fields))


@pytest.mark.parametrize(
    ("settled", "amount", "fee", "own", "settlement_fee"),
    [
        ("eur", 10_000, 343, "3.43", "3.43"),
        ("usd", 10_800, 343, "3.18", "3.43"),
        ("usd", 21_600, 343, "1.59", "3.43"),
        ("jpy", 17_000, 500, "2.94", "500"),
    ],
)
def test_fee_is_converted_by_the_rate_of_its_settlement(settled, amount, fee, own, settlement_fee):
    properties = fee_message(CHARGE, amount, currency=settled, fee=fee).properties
    assert (properties["fee"], properties["currency"]) == (own, "EUR")
    assert (properties["settlement_fee"], properties["settlement_currency"]) == (
        settlement_fee,
        settled.upper(),
    )
    assert properties["revenue"] == "0"


def test_fee_of_a_refund_is_dated_as_its_charge_where_that_is_known():
    refund = {"id": "re_1", "object": "refund", "amount": 10_000, "currency": "eur", "payment_intent": "pi_1"}
    expanded = fee_message(refund | {"charge": CHARGE}, -10_800, fee=25)
    assert expanded.occurred_at == datetime.fromtimestamp(PAID_AT, UTC)
    assert (expanded.properties["fee"], expanded.properties["charge_id"]) == ("0.23", "ch_1")
    named = fee_message(refund | {"charge": "ch_1"}, -10_800, fee=25)
    assert named.occurred_at == datetime.fromtimestamp(REFUNDED_AT, UTC)
    assert named.properties["charge_id"] == "ch_1"
    assert fee_message(refund | {"charge": "ch_1"}, -10_800, fee=0).event_name is None
