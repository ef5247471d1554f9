"""Checks a receipt of `POST /receipts` with its records, without Touchpoint.

Adds the contributions of the records up again, computes the formula, and compares value, counts and digests::

    python -m receipt_checker receipt.json records.json

The first file is the answer of ``GET /receipts/{id}``; the second is a JSON array of the ``records`` of all pages of
``records_url``, in their order. Prints ``ok`` or one line for each place that does not fit, and exits with 1.
"""

import ast
import json
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

RECEIPT_FIELDS: Final = {
    "id", "value", "unit", "decimals", "definition", "resolved", "terms", "counted", "left_out", "fx", "unavailable",
    "as_of", "records_url",
}  # fmt: skip
NOT_IN_ID: Final = {"id", "records_url"}
ID_LENGTH: Final = 32


def parse_json(text: str) -> Any:
    """Returns a JSON text with its fractions as exact decimals; a key that stands twice is an error."""
    return json.loads(text, parse_float=Decimal, object_pairs_hook=_object_without_repeated_keys)


def _object_without_repeated_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a key twice")
    return members


def canonical_json(value: Any) -> str:
    """Returns the canonical text of a JSON value, from which digests are computed."""
    if isinstance(value, Mapping):
        return (
            "{" + ",".join(f"{json.dumps(key)}:{canonical_json(value[key])}" for key in sorted(value)) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    return plain_decimal(value)


def plain_decimal(number: int | Decimal) -> str:
    """Returns a number without exponent and without zeros at the end."""
    text = format(Decimal(number), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"", "-0"} else text


def digest_of_lines(lines: Iterable[str]) -> str:
    """Returns the SHA-256 of texts, each ended by a line feed."""
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def find_faults(receipt: Any, records: Any) -> Iterator[str]:
    """Yields where a receipt and its records do not fit; nothing for a receipt that is right.

    Args:
        receipt: the receipt, by `parse_json`.
        records: its records in their order, likewise.
    """
    faults = list(_faults_of_form(receipt, records))
    if faults:
        yield from faults
        return
    content = {name: value for name, value in receipt.items() if name not in NOT_IN_ID}
    if sha256(canonical_json(content).encode()).hexdigest()[:ID_LENGTH] != receipt["id"]:
        yield "id: is not the digest of the content of the receipt"
    if f"/receipts/{receipt['id']}/records" not in receipt["records_url"]:
        yield "records_url: belongs to another receipt"
    if len(records) != receipt["counted"]["records"]:
        yield f"counted.records: {receipt['counted']['records']}, but there are {len(records)} records"
    lines = [canonical_json(record) for record in records]
    if digest_of_lines(lines) != receipt["counted"]["digest"]:
        yield "counted.digest: is not the digest of the records"
    if any(each["records"] <= 0 for each in receipt["left_out"]):
        yield "left_out: a reason leaves out no record"
    yield from _faults_of_terms(receipt, records)
    yield from _faults_of_value(receipt)


def _faults_of_form(receipt: Any, records: Any) -> Iterator[str]:
    """Yields what prevents any further check."""
    if not isinstance(receipt, dict) or set(receipt) != RECEIPT_FIELDS:
        yield "receipt: does not have the fields of a receipt"
        return
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        yield "records: is no array of objects"
        return
    names = [term["name"] for term in receipt["terms"]]
    if len(set(names)) != len(names):
        yield "terms: two have the same name"
    for position, record in enumerate(records):
        if record.get("term") not in names:
            yield f"records[{position}].term: is no term of the formula"
        elif not _is_number(record.get("contribution")):
            yield f"records[{position}].contribution: is no number"
    for term in receipt["terms"]:
        if not _is_number(term["value"]) and not (term["value"] is None and term["amounts"]):
            yield f"terms.{term['name']}: has neither a value nor amounts"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _faults_of_terms(receipt: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for term in receipt["terms"]:
        expected = {each["currency"]: Fraction(each["amount"]) for each in term["amounts"]} or {
            receipt["resolved"]["currency"]: Fraction(term["value"])
        }
        found = dict.fromkeys(expected, Fraction(0))
        for record in records:
            if record["term"] == term["name"]:
                currency = record.get("contribution_currency", receipt["resolved"]["currency"])
                found[currency] = found.get(currency, Fraction(0)) + Fraction(record["contribution"])
        for currency, total in found.items():
            if total != expected.get(currency):
                yield f"terms.{term['name']}: the records in {currency} add up to {float(total)}"


def _faults_of_value(receipt: Mapping[str, Any]) -> Iterator[str]:
    if any(term["value"] is None for term in receipt["terms"]):
        if receipt["value"] is not None or not receipt["unavailable"]:
            yield "value: a term has no value, so it must be null with a reason"
        return
    values = {term["name"]: Fraction(term["value"]) for term in receipt["terms"]}
    try:
        tree = ast.parse(receipt["definition"]["formula"], mode="eval")
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        computed = evaluate_formula(tree.body, values)
    except (SyntaxError, ValueError) as fault:
        yield f"definition.formula: {fault}"
        return
    if names != set(values):
        yield "definition.formula: does not name the terms"
    if receipt["value"] is None:
        if computed is not None and not receipt["unavailable"]:
            yield "value: is null without a reason"
        return
    if computed is None or not _is_number(receipt["value"]):
        yield "value: the formula has none, as it divides by zero"
        return
    rounded = Fraction(round(computed * 10 ** receipt["decimals"]), 10 ** receipt["decimals"])
    if rounded != Fraction(receipt["value"]):
        yield f"value: {receipt['value']}, but the formula gives {float(rounded)}"


def evaluate_formula(node: ast.expr, values: Mapping[str, Fraction]) -> Fraction | None:
    """Returns the exact value of an expression of ``+ - * /``, names and whole numbers; None for a division by zero.

    Raises:
        ValueError: it has anything else.
    """
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Fraction(node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = evaluate_formula(node.left, values), evaluate_formula(node.right, values)
        return None if left is None or right is None else OPERATORS[type(node.op)](left, right)
    raise ValueError("has something else than terms, whole numbers and + - * /")


def divide_or_none(numerator: Fraction, denominator: Fraction) -> Fraction | None:
    """Returns the quotient; None for a division by zero."""
    return numerator / denominator if denominator else None


OPERATORS: Final[Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction | None]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: divide_or_none,
}


def main(arguments: Sequence[str]) -> int:
    """Checks the files that are named; returns the exit status."""
    if len(arguments) != len(("receipt", "records")):
        sys.stderr.write("usage: python -m receipt_checker RECEIPT.json RECORDS.json\n")
        return 2
    receipt, records = (parse_json(Path(name).read_text(encoding="utf-8")) for name in arguments)
    faults = list(find_faults(receipt, records))
    sys.stdout.write("\n".join(faults or ["ok"]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
