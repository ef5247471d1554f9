"""Mail over SMTP, one connection per message, in a thread."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote

from plugins.mail_smtp.settings import SmtpSettings
from service_core.plugin import MailDown, Message


class SmtpMail:
    """Implements the port `Mail`."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings

    async def send(self, message: Message) -> None:
        """Hand a message to the server.

        Raises:
            MailDown: the server was not reached, or did not take it; its words are not repeated.
        """
        try:
            await asyncio.to_thread(self._send, self._letter(message))
        except (OSError, ValueError, smtplib.SMTPException) as fault:
            raise MailDown(type(fault).__name__) from None

    def _letter(self, message: Message) -> EmailMessage:
        letter = EmailMessage()
        letter["From"] = self._settings.sender
        letter["To"] = message.to
        letter["Subject"] = " ".join(message.subject.split())
        letter["Date"] = formatdate()
        letter["Message-ID"] = make_msgid(domain=self._settings.sender.rpartition("@")[2])
        letter.set_content(message.text)
        return letter

    def _send(self, letter: EmailMessage) -> None:
        settings = self._settings
        with self._connected() as server:
            if settings.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings.user is not None:
                server.login(unquote(settings.user), unquote(settings.password or ""))
            server.send_message(letter)

    def _connected(self) -> smtplib.SMTP:
        settings = self._settings
        if settings.security == "tls":
            return smtplib.SMTP_SSL(
                settings.host, settings.port, timeout=settings.seconds, context=ssl.create_default_context()
            )
        return smtplib.SMTP(settings.host, settings.port, timeout=settings.seconds)
