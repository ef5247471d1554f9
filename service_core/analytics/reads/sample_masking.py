"""Masks personal data in sample values of event properties, at every depth."""

import re
from collections.abc import Mapping
from typing import Any, Final

MASK: Final = "***"

_SENSITIVE_KEY_PARTS: Final = ("email", "e_mail", "phone", "address", "token", "password", "secret")
_PERSON_NAME_KEYS: Final = frozenset(
    ["name", "username", "firstname", "lastname", "fullname", "surname", "nickname", "realname"]
)
_PERSON_NAME_PREFIXES: Final = frozenset(
    [
        "first",
        "last",
        "full",
        "middle",
        "given",
        "family",
        "display",
        "maiden",
        "real",
        "nick",
        "legal",
        "user",
        "customer",
        "person",
        "contact",
        "billing",
        "shipping",
        "recipient",
        "cardholder",
        "card",
        "holder",
        "author",
        "lead",
        "buyer",
        "patient",
        "guest",
        "member",
        "employee",
        "sender",
    ]
)
"""Words before ``name`` that make it the name of a person, unlike ``product_name``."""

_ITEM_LISTS: Final = frozenset({"items", "products", "contents", "line_items", "cart"})
"""Lists whose elements have names of goods."""

_CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMAIL: Final = re.compile(r"[^\s@<>,;\"']+@[^\s@<>,;\"']+\.[^\s@<>,;\"']{2,}")
_INTERNATIONAL_PHONE: Final = re.compile(r"(?<![\w+])(?:\+|00)\d(?:[\s().\-/]{0,2}\d){6,13}(?!\w)")
_NATIONAL_PHONE: Final = re.compile(r"\(?0\d(?:[\s().\-/]{0,2}\d){7,11}|\(?\d{3}\)?[\s.\-]\d{3}[\s.\-]\d{4}")
_DATE: Final = re.compile(r"\d{2,4}[-./]\d{1,2}[-./]\d{1,4}(?:[T\s].*)?")
_CARD_NUMBER: Final = re.compile(r"(?<!\d)\d(?:[ \-]?\d){12,18}(?!\d)")


def mask_personal_data(key: str, value: Any, *, is_item: bool = False) -> Any:
    """Returns a JSON value with personal data replaced by `MASK`.

    Masked are values of keys that name personal data, and texts and numbers that look like an e-mail address, a phone
    number or a card number.

    Args:
        key: name of the property.
        value: the sample.
        is_item: the value belongs to an element of a list of goods, whose ``name`` is no person's.
    """
    if is_sensitive_key(key, is_item=is_item):
        return MASK
    match value:
        case Mapping():
            return {
                _mask_text_that_looks_personal(str(name)): mask_personal_data(
                    str(name), item, is_item=is_item
                )
                for name, item in value.items()
            }
        case list() | tuple():
            inside = is_item or _words_of(key) in _ITEM_LISTS
            return [mask_personal_data("", item, is_item=inside) for item in value]
        case str():
            return _mask_text_that_looks_personal(value)
        case int() if _is_card_number(str(abs(value))):
            return MASK
        case _:
            return value


def is_sensitive_key(key: str, *, is_item: bool = False) -> bool:
    """Returns whether the values of a key are personal data or secrets."""
    words = _words_of(key)
    if any(part in words for part in _SENSITIVE_KEY_PARTS) or "email" in words.replace("_", ""):
        return True
    if words in _PERSON_NAME_KEYS:
        return not (is_item and words == "name")
    *prefix, last = words.split("_")
    return last in {"name", "names"} and not _PERSON_NAME_PREFIXES.isdisjoint(prefix)


def _words_of(key: str) -> str:
    """``billingEmail`` and ``Billing-Email`` -> ``billing_email``."""
    return re.sub(r"[^a-z0-9]+", "_", _CAMEL_CASE.sub("_", key).lower()).strip("_")


def _mask_text_that_looks_personal(text: str) -> str:
    stripped = text.strip()
    looks_personal = (
        _EMAIL.search(stripped)
        or _INTERNATIONAL_PHONE.search(stripped)
        or (_NATIONAL_PHONE.fullmatch(stripped) and not _DATE.fullmatch(stripped))
        or any(_is_card_number(re.sub(r"[ \-]", "", found)) for found in _CARD_NUMBER.findall(stripped))
    )
    return MASK if looks_personal else text


def _is_card_number(digits: str) -> bool:
    """Returns whether 13 to 19 digits begin like the number of a payment card and have its check digit."""
    if not (13 <= len(digits) <= 19 and digits[0] in "23456"):  # noqa: PLR2004 - lengths of card numbers
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0  # noqa: PLR2004 - Luhn
