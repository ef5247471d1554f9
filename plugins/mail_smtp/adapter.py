"""Sends e-mail over SMTP, one connection per message, in a thread."""

import asyncio
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage as MimeMessage
from email.policy import EmailPolicy
from email.utils import formatdate, make_msgid, parseaddr
from typing import Any, Final
from urllib.parse import unquote

from plugins.mail_smtp.settings import SmtpSettings
from service_core.plugin import EmailMessage, EmailSenderUnavailable, StartupError

CHECK_TIMEOUT_SECONDS: Final = 5.0
"""Seconds one answer may take while the settings are checked."""

_STATUS_OK: Final = 250


class _MailPolicy(EmailPolicy):
    """Writes `List-Unsubscribe` on one line: mail programs read its URL only if it is neither encoded nor broken."""

    def fold_binary(self, name: str, value: Any) -> bytes:
        """Returns the bytes of a header."""
        if name == "List-Unsubscribe":
            return f"{name}: {value}{self.linesep}".encode("ascii")
        return super().fold_binary(name, value)


class SmtpMail:
    """Implements the port `EmailSender`."""

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings

    async def check(self) -> None:
        """Checks that the server accepts mail from the sender, without naming a recipient.

        Raises:
            StartupError: it does not.
        """
        try:
            await asyncio.to_thread(self._require_sender_accepted)
        except smtplib.SMTPResponseException as fault:
            server_message = fault.smtp_error
            reason = f"{fault.smtp_code} {server_message.decode(errors='replace') if isinstance(server_message, bytes) else server_message}"
            raise self._startup_error(reason) from None
        except (OSError, ValueError, smtplib.SMTPException) as fault:
            raise self._startup_error(str(fault) or type(fault).__name__) from None

    async def send(self, message: EmailMessage) -> None:
        """Sends a message.

        Raises:
            EmailSenderUnavailable: the server was not reached, or did not take it; its words are not repeated.
        """
        try:
            await asyncio.to_thread(self._send, self._build_mime_message(message))
        except (OSError, ValueError, smtplib.SMTPException) as fault:
            raise EmailSenderUnavailable(type(fault).__name__) from None

    def _build_mime_message(self, message: EmailMessage) -> MimeMessage:
        mime_message = MimeMessage(_MailPolicy())
        mime_message["From"] = self._settings.sender
        mime_message["To"] = message.to
        mime_message["Subject"] = " ".join(message.subject.split())
        mime_message["Date"] = formatdate()
        domain = parseaddr(self._settings.sender)[1].rpartition("@")[2]
        mime_message["Message-ID"] = f"<{message.id}@{domain}>" if message.id else make_msgid(domain=domain)
        if message.unsubscribe_url is not None:
            mime_message["List-Unsubscribe"] = f"<{message.unsubscribe_url}>"
            mime_message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        mime_message.set_content(message.text)
        if message.html is not None:
            mime_message.add_alternative(message.html, subtype="html")
        return mime_message

    def _send(self, email: MimeMessage) -> None:
        with self._open_authenticated_connection(self._settings.timeout_seconds) as server:
            server.send_message(email)

    def _require_sender_accepted(self) -> None:
        sender = parseaddr(self._settings.sender)[1]
        with self._open_authenticated_connection(
            min(self._settings.timeout_seconds, CHECK_TIMEOUT_SECONDS)
        ) as server:
            code, server_message = server.mail(sender)
            if code != _STATUS_OK:
                raise smtplib.SMTPSenderRefused(code, server_message, sender)
            server.rset()

    def _startup_error(self, reason: str) -> StartupError:
        where = f"{self._settings.host}:{self._settings.port}"
        message = " ".join(reason.split()).rstrip(".")
        return StartupError(
            f"The mail server {where} of mail.transport cannot be used: {message}. See that host, port, security, user, "
            "password and sender in the URL are right."
        )

    @contextmanager
    def _open_authenticated_connection(self, timeout_seconds: float) -> Iterator[smtplib.SMTP]:
        """Gives a connection that may send; ``seconds`` is how long one answer may take."""
        settings = self._settings
        with self._connect_by_tls_or_plain(timeout_seconds) as server:
            if settings.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings.user is not None:
                server.login(unquote(settings.user), unquote(settings.password or ""))
            yield server

    def _connect_by_tls_or_plain(self, timeout_seconds: float) -> smtplib.SMTP:
        settings = self._settings
        if settings.security == "tls":
            return smtplib.SMTP_SSL(
                settings.host, settings.port, timeout=timeout_seconds, context=ssl.create_default_context()
            )
        return smtplib.SMTP(settings.host, settings.port, timeout=timeout_seconds)
