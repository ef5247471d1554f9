"""E-mail addresses of people: one form, so that one address is one account."""

import re
from typing import Final

from service_core.kernel.errors import BadRequest

MAX_EMAIL_LENGTH: Final = 254
_EMAIL_PATTERN: Final = re.compile(
    r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+@[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+\.[^\s@.]{2,}"
)


def normalize_email(text: str) -> str:
    """The address in lower case, without space around it.

    Raises:
        BadRequest: ``invalid_email``.
    """
    address = text.strip().lower()
    if len(address) > MAX_EMAIL_LENGTH or not _EMAIL_PATTERN.fullmatch(address) or ".." in address:
        raise BadRequest("email must be an e-mail address", "invalid_email", field="email")
    return address
