"""Mail printed instead of sent."""

import sys

from service_core.plugin import EmailMessage


class ConsoleMail:
    """Implements the port `Mail` for a machine without mail."""

    async def send(self, message: EmailMessage) -> None:
        """Print the message; its one-time links are for whoever can read the terminal."""
        sys.stderr.write(f"\nTo: {message.to}\nSubject: {message.subject}\n\n{message.text}\n")
        sys.stderr.flush()
