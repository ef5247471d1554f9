"""Bodies of forms, small, in time, and of the one type a plain form has; and what their fields mean."""

import asyncio
import binascii
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID

from quart import Request

from service_core.intake.poison import clean_text
from service_core.kernel.errors import BadRequest, NotFound, TooLarge

LARGEST: Final = 100_000
MOST_FIELDS: Final = 200
PATIENCE_SECONDS: Final = 10.0
FORM_TYPE: Final = "application/x-www-form-urlencoded"


async def body_of(request: Request) -> bytes:
    """The body of a small request.

    Raises:
        TooLarge: over 100,000 bytes; the rest is not read.
        BadRequest: nothing came for 10 seconds.
    """
    kept = bytearray()
    chunks = aiter(request.body)
    while True:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise BadRequest("The request took too long") from None
        if chunk is None:
            return bytes(kept)
        kept += chunk
        if len(kept) > LARGEST:
            raise TooLarge("The request is too large", "payload_too_large")


async def pairs_of(request: Request) -> list[tuple[str, str]]:
    """Fields of a form in their order, empty ones included; none when the body is no form.

    Raises:
        TooLarge, BadRequest: as `body_of`; too many fields.
    """
    body = await body_of(request)
    if (request.mimetype or "") != FORM_TYPE:
        return []
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise BadRequest("The form has too many fields") from None
    return clean_pairs(pairs)


def clean_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and values without what no store keeps: NUL and lone surrogates."""
    return [(clean_text(name), clean_text(value)) for name, value in pairs]


class Fields:
    """Fields of a form by name."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def text(self, name: str) -> str:
        """The last value of a field without space around it; empty when there is none."""
        return next((value.strip() for key, value in reversed(self._pairs) if key == name), "")

    def raw(self, name: str) -> str:
        """The last value of a field as it was typed."""
        return next((value for key, value in reversed(self._pairs) if key == name), "")

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return [value for key, value in self._pairs if key == name]

    def number(self, name: str) -> int | None:
        """A whole number of at most nine digits; None for anything else."""
        text = self.text(name)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None  # noqa: PLR2004

    def octets(self, name: str) -> bytes:
        """What the last value of a field is the base64url of; nothing when it is none."""
        text = self.text(name)
        try:
            return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        except (binascii.Error, UnicodeEncodeError):
            return b""


def id_of(text: str) -> UUID:
    """The id that a part of an address is.

    Raises:
        NotFound: it is none, so nothing has it.
    """
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None
