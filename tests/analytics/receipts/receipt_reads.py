"""Reads receipts and checks them with the checker of contrib, which knows nothing of Touchpoint."""

import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode, urlsplit

import orjson

sys.path.insert(0, str(Path(__file__).parents[3] / "contrib/receipt_checker"))

from receipt_checker import __main__ as check_receipt

sys.path.pop(0)


async def open_receipt(client, plan, metric, key=None, page_size=1000):
    """Returns a receipt and all its records, as the checker reads them."""
    body = {"plan": plan, "metric": metric, "key": key or {}}
    status, receipt = await client.ask("POST", "/receipts", body=orjson.dumps(body))
    assert status == 200, receipt
    path = urlsplit(receipt["records_url"]).path.removeprefix("/v1")
    records, cursor = [], None
    while True:
        parameters = {"limit": page_size} | ({"cursor": cursor} if cursor else {})
        page = await client.get(path, **parameters)
        records += page["records"]
        assert page["unchanged"], (metric, page["digest"], receipt["counted"])
        assert page["total_count"] == receipt["counted"]["records"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    read = check_receipt.parse_json(orjson.dumps(receipt).decode())
    return SimpleNamespace(
        answer=receipt, receipt=read, records=check_receipt.parse_json(orjson.dumps(records).decode())
    )


def faults_of(opened):
    """Where the checker finds that a receipt and its records do not fit."""
    return list(check_receipt.find_faults(opened.receipt, opened.records))


async def require_receipt_of_value(client, plan, metric, value, key=None):
    """Opens a cell; its receipt adds up, and has the value of the query."""
    opened = await open_receipt(client, plan, metric, key)
    assert faults_of(opened) == [], (metric, key)
    assert opened.answer["value"] == value, (metric, key)
    return opened


def decimal(number):
    return None if number is None else Decimal(str(number))


__all__ = ["check_receipt", "faults_of", "open_receipt", "require_receipt_of_value", "urlencode"]
