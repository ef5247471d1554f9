"""E-mail over SMTP: ``mail.transport = "smtp://user:password@mail.example.com:587?sender=touchpoint@example.com"``."""

from collections.abc import Iterable

from plugins.mail_smtp.settings import SmtpSettings
from service_core.plugin import Adapter, EmailSender, PluginData, PluginInfo, hook


def _open(settings: SmtpSettings) -> EmailSender:
    from plugins.mail_smtp.adapter import SmtpMail

    return SmtpMail(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("SMTP", icon="✉", reads=(PluginData.PERSONAL_DATA,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for a mail server."""
    summary = "Mail handed to an SMTP server."
    return (Adapter("mail", "smtp", _open, SmtpSettings, summary),)
