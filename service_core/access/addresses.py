"""E-mail addresses of people: one form, so that one address is one account."""

import re
from typing import Final

from service_core.kernel.errors import BadRequest

LONGEST: Final = 254
_FORM: Final = re.compile(
    r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+@[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]+\.[^\s@.]{2,}"
)


def email_of(text: str) -> str:
    """The address in lower case, without space around it.

    Raises:
        BadRequest: ``invalid_email``.
    """
    address = text.strip().lower()
    if len(address) > LONGEST or not _FORM.fullmatch(address) or ".." in address:
        raise BadRequest("email must be an e-mail address", "invalid_email", field="email")
    return address
