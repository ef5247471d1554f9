"""Sending of e-mails to people."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class EmailMessage:
    """An e-mail in plain text. It may contain a one-time link, so it is never logged."""

    to: str
    subject: str
    text: str = field(repr=False)


class EmailSenderUnavailable(Exception):
    """The e-mail was not accepted for delivery."""


class EmailSender(Protocol):
    """Sends e-mails."""

    async def send(self, message: EmailMessage) -> None:
        """Hands an e-mail over for delivery.

        Raises:
            EmailSenderUnavailable: it was not accepted.
        """
