"""Normalization of e-mail addresses, so that each address belongs to one account."""

import re
from typing import Final

from service_core.kernel.errors import BadRequest

MAX_EMAIL_LENGTH: Final = 254
_EMAIL_PATTERN: Final = re.compile(
    r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+@[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+\.[^\s@.]{2,}"
)


def normalize_or_reject_email(email: str) -> str:
    """Returns the e-mail address in lower case, without surrounding space.

    Raises:
        BadRequest: ``invalid_email``.
    """
    address = email.strip().lower()
    if len(address) > MAX_EMAIL_LENGTH or not _EMAIL_PATTERN.fullmatch(address) or ".." in address:
        raise BadRequest("email must be an e-mail address", "invalid_email", field="email")
    return address
