"""Replaces values that JSON allows and databases reject, such as NUL characters and lone surrogates.

These are NUL and lone surrogates in text, integers beyond 64 bits, numbers that are not finite, and deep nesting. One such
value would otherwise fail the whole batch of events.
"""

import re
from math import isfinite
from typing import Any, Final

MAX_DEPTH: Final = 32
"""Containers nested deeper than this are replaced by null."""

_REPLACEMENT: Final = "\ufffd"
_INT64: Final = 2**63
_ESCAPED_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""An escaped NUL whose backslash is not itself escaped."""
_MARK_DIGITS: Final = bytes.maketrans(b"123456789E", b"000000000e")
_NINETEEN_DIGITS: Final = b"0" * 19
_LARGE_EXPONENT: Final = re.compile(rb"[:,\[\s]-?[0-9][0-9.]*[eE]\+?[0-9]{3}")
"""Behind a number; the same characters are common within texts such as a UUID."""


def replace_nul_and_surrogates(value: str) -> str:
    """Returns the text with NUL and lone surrogates replaced by U+FFFD."""
    if value.isascii():
        return value.replace("\0", _REPLACEMENT) if "\0" in value else value
    value = value.replace("\0", _REPLACEMENT)
    try:
        value.encode()
    except UnicodeEncodeError:
        return "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in value)
    return value


def sanitize_json_bytes(text: bytes) -> bytes:
    """Returns JSON text with every escaped NUL replaced by U+FFFD."""
    return _ESCAPED_NUL.sub(rb"\1\\ufffd", text) if b"\\u0000" in text else text


def to_int64_or_finite_float(value: float) -> int | float | None:
    """Returns the number as a 64-bit integer or finite float; None if it is neither."""
    if isinstance(value, int):
        if -_INT64 <= value < _INT64:
            return value
        try:
            return float(value)
        except OverflowError:
            return None
    return value if isfinite(value) else None


def is_storable_json(text: bytes) -> bool:
    """Returns whether `sanitize_json_value` changes nothing in the value of a JSON text.

    False for some texts in which it changes nothing either: those with an escape, a number of 19 digits or an exponent of
    three, or many brackets. Looking at the bytes takes a fraction of the time of visiting each value.
    """
    if b"\\u" in text or text.count(b"{") + text.count(b"[") > MAX_DEPTH:
        return False
    marked = text.translate(_MARK_DIGITS)
    return (
        _NINETEEN_DIGITS not in marked
        and not ((b"0e000" in marked or b"0e+000" in marked) and _LARGE_EXPONENT.search(text))
        and b"NaN" not in text
        and b"Infinity" not in text
    )


def sanitize_json_value(value: Any, depth: int = 0) -> Any:
    """Returns a JSON value with all unstorable values replaced; nesting deeper than `MAX_DEPTH` is cut."""
    if isinstance(value, str):
        return value if value.isascii() and "\0" not in value else replace_nul_and_surrogates(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return to_int64_or_finite_float(value)
    if depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {
            replace_nul_and_surrogates(key): sanitize_json_value(item, depth + 1)
            for key, item in value.items()
        }
    return [sanitize_json_value(item, depth + 1) for item in value]
