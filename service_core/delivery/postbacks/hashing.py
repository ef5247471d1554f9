"""Normalizes and hashes personal data as ad platforms compare it.

Each function takes a value as it was entered and gives SHA-256 in hexadecimal, or None where nothing is left that
could identify a person: the hash of an empty text would match everybody who left the field empty. A value of 64 hexadecimal
digits is a hash already and passes.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Final

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_TRUNK: Final = re.compile(r"\(\s*0+\s*\)")
"""The zero of a number's home country, as in ``+44 (0) 20``; it is not dialled from abroad."""
_PHONE_DIGITS: Final = range(7, 16)
_ZIP_PLUS_FOUR: Final = re.compile(r"(\d{5})-?\d{4}")
_GENDERS: Final = {"f": "f", "female": "f", "m": "m", "male": "m"}
_COUNTRY: Final = re.compile(r"[a-z]{2}")


def hash_id(text: str | None) -> str | None:
    """Returns the SHA-256 of an id, trimmed and in lower case."""
    return _hash_unless_hashed_or_empty(text, str)


def hash_email(text: str | None) -> str | None:
    """Returns the hash of an e-mail address; None without an ``@``."""
    return _hash_unless_hashed_or_empty(text, lambda plain: plain if "@" in plain else "")


def hash_phone(text: str | None, *, plus: bool) -> str | None:
    """Returns the hash of a phone number with its country code.

    Args:
        text: with the code, after ``+``, ``00`` or nothing; a number that begins with one zero has none.
        plus: whether the platform hashes E.164, with ``+``, or the digits alone.
    """
    return _hash_unless_hashed_or_empty(text, lambda plain: _normalize_phone(plain, "+" if plus else ""))


def hash_name(text: str | None) -> str | None:
    """Returns the hash of the letters of a first or last name."""
    return _hash_unless_hashed_or_empty(text, lambda plain: "".join(filter(_is_letter, plain)))


def hash_place(text: str | None) -> str | None:
    """Returns the hash of the letters and digits of a city or state."""
    return _hash_unless_hashed_or_empty(
        text,
        lambda plain: "".join(
            character for character in plain if _is_letter(character) or character.isdecimal()
        ),
    )


def hash_country(text: str | None) -> str | None:
    """Returns the hash of a two-letter ISO 3166 country code."""
    return _hash_unless_hashed_or_empty(text, lambda plain: plain if _COUNTRY.fullmatch(plain) else "")


def hash_postal_code(text: str | None) -> str | None:
    """Returns the hash of a postal code without spaces and dashes; of a ZIP+4 the first five digits."""
    return _hash_unless_hashed_or_empty(text, _normalize_postal_code)


def hash_gender(text: str | None) -> str | None:
    """Returns the hash of ``f`` or ``m``; platforms accept no other values."""
    return _hash_unless_hashed_or_empty(text, lambda plain: _GENDERS.get(plain, ""))


def hash_birth_date(text: str | None) -> str | None:
    """Returns the hash of an ISO 8601 birth date, written as ``YYYYMMDD``."""
    return _hash_unless_hashed_or_empty(text, _normalize_date)


def _hash_unless_hashed_or_empty(text: str | None, normalize: Callable[[str], str]) -> str | None:
    trimmed = unicodedata.normalize("NFC", text or "").strip().lower()
    if _HASH.fullmatch(trimmed):
        return trimmed
    normalized = normalize(trimmed)
    return hashlib.sha256(normalized.encode("utf-8", "replace")).hexdigest() if normalized else None


def _normalize_phone(text: str, prefix: str) -> str:
    digits = "".join(str(int(character)) for character in _TRUNK.sub("", text) if character.isdecimal())
    international = digits.removeprefix("00")
    known = not international.startswith("0") and len(international) in _PHONE_DIGITS
    return prefix + international if known else ""


def _normalize_postal_code(text: str) -> str:
    closed = "".join(text.split())
    long = _ZIP_PLUS_FOUR.fullmatch(closed)
    return long[1] if long else closed.replace("-", "")


def _normalize_date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat().replace("-", "")
    except ValueError:
        return ""


def _is_letter(character: str) -> bool:
    """Returns whether a character is a letter or a combining mark."""
    return unicodedata.category(character)[0] in "LM"
