"""Prints e-mail instead of sending it."""

import sys

from service_core.plugin import EmailMessage


class ConsoleMail:
    """Implements the port `EmailSender` for a machine without a mail server."""

    async def send(self, message: EmailMessage) -> None:
        """Prints the message; whoever reads the terminal can use its one-time links."""
        sys.stderr.write(f"\nTo: {message.to}\nSubject: {message.subject}\n\n{message.text}\n")
        sys.stderr.flush()
