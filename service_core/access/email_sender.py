"""Sending of e-mails to people."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class EmailMessage:
    """An e-mail. It may contain a one-time link, so it is never logged.

    Attributes:
        text: the whole message in plain text.
        html: the same as HTML, for readers that show it; None for plain text alone.
        unsubscribe_url: where a POST request or a person unsubscribes; None for a message that is no subscription.
        id: the same for each attempt to send the message, so that a repeated one is recognized; None gives it a new one.
    """

    to: str
    subject: str
    text: str = field(repr=False)
    html: str | None = field(default=None, repr=False)
    unsubscribe_url: str | None = field(default=None, repr=False)
    id: str | None = None


class EmailSenderUnavailable(Exception):
    """The e-mail was not accepted for delivery."""


class EmailSender(Protocol):
    """Sends e-mails."""

    async def send(self, message: EmailMessage) -> None:
        """Hands an e-mail over for delivery.

        Raises:
            EmailSenderUnavailable: it was not accepted.
        """
