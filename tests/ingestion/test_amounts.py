"""Contract 10.2: value, then revenue, then amount."""

import pytest

from service_core.ingestion.amounts import parse_first_amount_in_minor_units


@pytest.mark.parametrize(
    ("properties", "money"),
    [
        ({"value": "49.90", "currency": "usd"}, (4990, "USD")),
        ({"value": 49.9}, (4990, "EUR")),
        ({"value": 0}, (0, "EUR")),
        ({"value": "", "revenue": 5, "amount": 7}, (500, "EUR")),
        ({"value": "free", "amount": "7"}, (700, "EUR")),
        ({"value": -10}, (-1000, "EUR")),
        ({"value": 1000, "currency": "JPY"}, (1000, "JPY")),
        ({"value": "1.2345", "currency": "KWD"}, (1234, "KWD")),
        ({"value": 0.125}, (12, "EUR")),
        ({"value": 0.135}, (14, "EUR")),
        ({"value": 5, "currency": "dollars"}, (500, "EUR")),
        ({"value": 5, "currency": 840}, (500, "EUR")),
        ({"value": "1e2"}, (10000, "EUR")),
        ({"value": "$1,234.50", "currency": "USD"}, (123450, "USD")),
        ({"value": "-€ 49.90"}, (-4990, "EUR")),
        ({"value": "1 234 567 ₽", "currency": "RUB"}, (123456700, "RUB")),
        ({"value": "12,34"}, (None, None)),
        ({"value": "$$5"}, (None, None)),
        ({"value": 5, "currency": "QQQ"}, (None, None)),
        ({"value": True}, (None, None)),
        ({"value": "1_000"}, (None, None)),
        ({"value": "NaN"}, (None, None)),
        ({"value": "1e99"}, (None, None)),
        ({"value": 10**18}, (None, None)),
        ({"value": 10**15 - 1, "currency": "JPY"}, (10**15 - 1, "JPY")),
        ({"value": 10**15, "currency": "JPY"}, (None, "JPY")),
        ({"value": "90000000000000"}, (9 * 10**15, "EUR")),
        ({"value": "999999999999999.99", "currency": "USD"}, (10**17 - 1, "USD")),
        ({"value": "-999999999999999.99", "currency": "USD"}, (1 - 10**17, "USD")),
        ({"value": "999999999999999.999", "currency": "KWD"}, (10**18 - 1, "KWD")),
        ({"value": 10**14, "currency": "CLF"}, (None, "CLF")),
        ({"value": 10**15, "currency": "USD"}, (None, "USD")),
        ({"value": {}}, (None, None)),
        ({"currency": "usd"}, (None, "USD")),
        ({}, (None, None)),
    ],
)
def test_amounts_parse_to_minor_units(properties, money):
    assert parse_first_amount_in_minor_units(properties, "EUR") == money
