"""The checker of contrib refuses every receipt that was changed, and knows nothing of Touchpoint."""

import ast
import copy
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from tests.analytics.golden_week import ITEMS, WEEK, add_week_of_visits
from tests.analytics.receipts.receipt_reads import check_receipt, faults_of, open_receipt

SOURCE = Path(check_receipt.__file__)
MAX_LINES = 300


def change_receipt(*path, to):
    """Changes one value of the receipt; a function computes the new value from the old one."""

    def change(receipt, _records):
        target = receipt
        for part in path[:-1]:
            target = target[part]
        target[path[-1]] = to(target[path[-1]]) if callable(to) else to

    return change


def with_new_id(change):
    """The same change by somebody who also computes the new id and address."""

    def changed(receipt, records):
        change(receipt, records)
        content = {name: receipt[name] for name in receipt if name not in check_receipt.NOT_IN_ID}
        old, digest = receipt["id"], check_receipt.sha256(check_receipt.canonical_json(content).encode())
        receipt["id"] = digest.hexdigest()[: check_receipt.ID_LENGTH]
        receipt["records_url"] = receipt["records_url"].replace(old, receipt["id"])

    return changed


def change_record(field, to):
    def change(_receipt, records):
        records[0][field] = to(records[0][field]) if callable(to) else to

    return change


def move_contribution(_receipt, records):
    records[0]["contribution"] += 1
    records[1]["contribution"] -= 1


def digest_again(change):
    """The same change of records by somebody who also computes their digest, their number and the id."""

    def changed(receipt, records):
        change(receipt, records)
        receipt["counted"]["digest"] = check_receipt.digest_of_lines(
            map(check_receipt.canonical_json, records)
        )
        receipt["counted"]["records"] = len(records)

    return with_new_id(changed)


TAMPERED = {
    "value": change_receipt("value", to=lambda value: value + 1),
    "value with a new id": with_new_id(change_receipt("value", to=lambda value: value + 1)),
    "value by the last decimal": with_new_id(change_receipt("value", to=lambda value: value + Decimal("0.000001"))),
    "value is null": with_new_id(change_receipt("value", to=None)),
    "unit": change_receipt("unit", to="count"),
    "fewer decimals": with_new_id(change_receipt("decimals", to=1)),
    "metric of the definition": change_receipt("definition", "metric", to="bounce_rate"),
    "version of the definition": change_receipt("definition", "version", to=lambda version: version + 1),
    "text of the definition": change_receipt("definition", "text", to="Something else."),
    "formula": with_new_id(change_receipt("definition", "formula", to="visitors / conversions")),
    "formula that calls": with_new_id(change_receipt("definition", "formula", to="exit(conversions)")),
    "formula without a term": with_new_id(change_receipt("definition", "formula", to="conversions / 3")),
    "range": change_receipt("resolved", "date_range", "to", to="2026-07-31T23:59:59.999Z"),
    "filters": change_receipt("resolved", "filters", to=[{"dimension": "country", "op": "eq", "value": "DE"}]),
    "value of a term": with_new_id(change_receipt("terms", 0, "value", to=lambda value: value + 1)),
    "name of a term": with_new_id(change_receipt("terms", 0, "name", to="signups")),
    "number of records": with_new_id(change_receipt("counted", "records", to=lambda number: number - 1)),
    "digest of the records": with_new_id(change_receipt("counted", "digest", to="0" * 64)),
    "reason left out": change_receipt("left_out", to=[]),
    "exchange rate": change_receipt(
        "fx", to=[{"currency": "EUR", "date": "2026-07-01", "rate": 1, "source": "none"}]
    ),
    "time": change_receipt("as_of", to="2026-07-01T00:00:00.000Z"),
    "address of other records": change_receipt("records_url", to=lambda url: url.replace("/receipts/", "/receipts/0")),
    "record left out": lambda _, records: records.pop(),
    "record left out with new digest": digest_again(lambda _, records: records.pop()),
    "record twice": digest_again(lambda _, records: records.append(records[0])),
    "order of records": lambda _, records: records.reverse(),
    "contribution": digest_again(change_record("contribution", lambda number: number + 1)),
    "contribution moved to another record": move_contribution,
    "contribution is a text": digest_again(change_record("contribution", "1")),
    "term of a record": digest_again(change_record("term", "visitors")),
    "unknown term of a record": digest_again(change_record("term", "leads")),
    "event of a record": change_record("event_id", "another"),
    "further field of a record": lambda _, records: records[0].update(note="checked"),
    "further field of the receipt": with_new_id(lambda receipt, _: receipt.update(checked=True)),
}  # fmt: skip


async def test_changed_receipts_are_refused(served):
    shop = await served.workspace()
    add_week_of_visits(shop.story, ITEMS)
    shop.story.add_event("page_view", at="2026-07-02T10:00:00", visitor="B", is_bot=True)
    await shop.knows()
    opened = await open_receipt(shop, {"metrics": ["conversion_rate"], "date_range": WEEK}, "conversion_rate")
    assert faults_of(opened) == []
    assert opened.answer["left_out"]
    accepted = []
    for name, change in TAMPERED.items():
        receipt, records = copy.deepcopy((opened.receipt, opened.records))
        change(receipt, records)
        if not list(check_receipt.find_faults(receipt, records)):
            accepted.append(name)
    assert accepted == []
    assert len(TAMPERED) >= 24


def test_key_that_stands_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        check_receipt.parse_json('{"value": 1, "value": 2}')


def test_checker_is_short_and_imports_the_standard_library_only():
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= MAX_LINES
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names
