"""Bodies of forms, small, in time, and of the one type a plain form has; and what their fields mean."""

import asyncio
import binascii
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl
from uuid import UUID

from quart import Request

from service_core.ingestion.sanitize_json import replace_nul_and_surrogates
from service_core.kernel.errors import BadRequest, NotFound, PayloadTooLarge

MAX_BODY_BYTES: Final = 100_000
MAX_FIELDS: Final = 1_000
BODY_TIMEOUT_SECONDS: Final = 10.0
FORM_TYPE: Final = "application/x-www-form-urlencoded"


async def read_body_or_refuse_large_or_slow(request: Request) -> bytes:
    """The body of a small request.

    Raises:
        PayloadTooLarge: over 100,000 bytes; the rest is not read.
        BadRequest: nothing came for 10 seconds.
    """
    body = bytearray()
    chunks = aiter(request.body)
    while True:
        try:
            async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise BadRequest("The request took too long") from None
        if chunk is None:
            return bytes(body)
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLarge("The request is too large", "payload_too_large")


async def read_sanitized_form_pairs(request: Request) -> list[tuple[str, str]]:
    """Fields of a form in their order, empty ones included; none when the body is no form.

    Raises:
        PayloadTooLarge, BadRequest: as `read_body_or_refuse_large_or_slow`, or too many fields.
    """
    body = await read_body_or_refuse_large_or_slow(request)
    if (request.mimetype or "") != FORM_TYPE:
        return []
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise BadRequest("The form has too many fields") from None
    return drop_unstorable_characters(pairs)


def drop_unstorable_characters(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and values without what no store keeps: NUL and lone surrogates."""
    return [(replace_nul_and_surrogates(name), replace_nul_and_surrogates(value)) for name, value in pairs]


class FormFields:
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

    def pairs_except(self, *names: str) -> list[tuple[str, str]]:
        """Every field and its value in order, without the fields of these names."""
        return [(key, value) for key, value in self._pairs if key not in names]

    def integer(self, name: str) -> int | None:
        """A whole number of at most nine digits; None for anything else."""
        text = self.text(name)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None  # noqa: PLR2004

    def base64url_bytes_or_empty(self, name: str) -> bytes:
        """What the last value of a field is the base64url of; nothing when it is none."""
        text = self.text(name)
        try:
            return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        except (binascii.Error, UnicodeEncodeError):
            return b""


def parse_id_or_raise_not_found(text: str) -> UUID:
    """The id that a part of an address is.

    Raises:
        NotFound: it is none, so nothing has it.
    """
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None


def format_number_exactly(number: float) -> str:
    """Returns a number as a form shows it, so that saving the form does not change it: ``1250.5``, ``3``."""
    return str(number).removesuffix(".0")


def parse_number_or_text(text: str) -> float | str | None:
    """The number that a text is; a text that is none, for the API to refuse; None for nothing."""
    try:
        number = float(text)
    except ValueError:
        return text or None
    return number if abs(number) < 1e15 else text  # noqa: PLR2004 - beyond it a float is not exact; also infinity
