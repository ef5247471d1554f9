"""What the service writes to people."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class EmailMessage:
    """A mail in plain text; it may hold a one-time link, so it is never logged."""

    to: str
    subject: str
    text: str = field(repr=False)


class EmailSenderUnavailable(Exception):
    """The mail could not be handed over; it was not sent."""


class EmailSender(Protocol):
    """Outgoing mail."""

    async def send(self, message: EmailMessage) -> None:
        """Hand a message over for delivery.

        Raises:
            EmailSenderUnavailable: it was not taken.
        """
