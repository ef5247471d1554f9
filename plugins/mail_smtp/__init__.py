"""E-mail over SMTP: ``mail.transport = "smtp://user:password@mail.example.com:587?sender=touchpoint@example.com"``."""

from collections.abc import Iterable

from plugins.mail_smtp.settings import SmtpSettings
from service_core.plugin import Adapter, EmailSender, hook


def _open(settings: SmtpSettings) -> EmailSender:
    from plugins.mail_smtp.adapter import SmtpMail

    return SmtpMail(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for a mail server."""
    return (
        Adapter(
            port="mail",
            scheme="smtp",
            open=_open,
            settings=SmtpSettings,
            summary="Mail handed to an SMTP server.",
        ),
    )
