"""Typed access to the fields of a JSON message."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from service_core.ingestion.sanitize_json import replace_nul_and_surrogates

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER_LIMIT: Final = 10**19
"""A number as large as this is none that a provider sends, and more than stores keep of minor units."""


@dataclass(frozen=True, slots=True)
class MessageFields:
    """The fields of an object within a message; one that is of another kind than asked for is not there.

    Args:
        values: as they were read from JSON.
    """

    values: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        """Returns a text without surrounding space, or a whole number as text; None if it is blank or missing."""
        value = self.values.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return (replace_nul_and_surrogates(value).strip() or None) if isinstance(value, str) else None

    def required_text(self, name: str) -> str:
        """Returns a text as `text` does.

        Raises:
            ValueError: it is missing; the message names the field.
        """
        text = self.text(name)
        if text is None:
            raise ValueError(f"{name} is missing")
        return text

    def texts(self, name: str) -> list[str]:
        """The texts of a list; an empty one when there is none."""
        value = self.values.get(name)
        listed = value if isinstance(value, list) else []
        return [replace_nul_and_surrogates(item) for item in listed if isinstance(item, str) and item]

    def object(self, name: str) -> "MessageFields":
        """An object within; one without fields when there is none."""
        value = self.values.get(name)
        return MessageFields(value if isinstance(value, dict) else {})

    def objects(self, name: str) -> "list[MessageFields]":
        """The objects of a list; an empty one when there is none."""
        value = self.values.get(name)
        return [
            MessageFields(item)
            for item in (value if isinstance(value, list) else [])
            if isinstance(item, dict)
        ]

    def number(self, name: str) -> Decimal | None:
        """Returns a number as it was written; None if it is missing, not finite or 10**19 or more.

        An amount may be too large to be recorded; the consumer ignores it then, and counts it.

        JSON may have been read into binary fractions: the shortest text that reads as the same one
        is what was written, for every number of up to 15 digits.
        """
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            return None
        try:
            read = Decimal(str(value))
        except InvalidOperation:
            return None
        return read if read.is_finite() and abs(read) < _NUMBER_LIMIT else None

    def epoch_milliseconds(self, name: str) -> datetime | None:
        """Epoch milliseconds as aware UTC."""
        stamp = self.number(name)
        try:
            return None if stamp is None else _EPOCH + timedelta(milliseconds=int(stamp))
        except OverflowError:
            return None

    def epoch_seconds(self, name: str) -> datetime | None:
        """Epoch seconds as aware UTC."""
        stamp = self.number(name)
        try:
            return None if stamp is None else _EPOCH + timedelta(seconds=int(stamp))
        except OverflowError:
            return None

    def iso_datetime_with_offset(self, name: str) -> datetime | None:
        """Returns a time in ISO 8601 as aware UTC; None if it is missing, malformed or has no offset."""
        try:
            read = datetime.fromisoformat(self.text(name) or "")
            return None if read.tzinfo is None else read.astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    def is_true(self, name: str) -> bool:
        """Whether it is there and true."""
        return self.values.get(name) is True

    def currency(self, name: str) -> str | None:
        """A currency by its three letters."""
        code = (self.text(name) or "").upper()
        return code if len(code) == 3 and code.isascii() and code.isalpha() else None  # noqa: PLR2004 - ISO 4217
