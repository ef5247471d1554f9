"""The canonical text of JSON values, from which the digests of receipts and records are computed.

Objects have their keys in the order of code points, nothing stands between tokens, texts are written as by
``json.dumps`` with ``ensure_ascii``, and numbers as plain decimals without exponent and without zeros at the end.
The same form is computed in `contrib/receipt_checker` without Touchpoint.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

from service_core.kernel.timestamps import format_timestamp


def canonical_json(value: Any) -> str:
    """Returns the canonical text of a JSON value; an instant is written as answers show it."""
    if isinstance(value, Mapping):
        members = (f"{json.dumps(str(key))}:{canonical_json(value[key])}" for key in sorted(value))
        return f"{{{','.join(members)}}}"
    if isinstance(value, str | bool) or value is None:
        return json.dumps(str(value) if isinstance(value, str) else value)
    if isinstance(value, int | float | Decimal):
        return plain_decimal(value)
    if isinstance(value, date):
        return json.dumps(format_timestamp(value) if isinstance(value, datetime) else value.isoformat())
    return f"[{','.join(map(canonical_json, _items_of_array(value)))}]"


def _items_of_array(value: Any) -> Sequence[Any]:
    if isinstance(value, Sequence):
        return value
    raise TypeError(f"{type(value).__name__} is no JSON value")


def plain_decimal(number: float | Decimal) -> str:
    """Returns a number without exponent and without zeros at the end; a float as its shortest decimal."""
    text = format(Decimal(repr(number)) if isinstance(number, float) else Decimal(number), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"", "-0"} else text


def digest_of_lines(lines: Iterable[str]) -> str:
    """Returns the SHA-256 of texts in their order, each ended by a line feed, in hexadecimal."""
    digest = sha256()
    for line in lines:
        digest.update(line.encode())
        digest.update(b"\n")
    return digest.hexdigest()
