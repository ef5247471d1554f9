"""E-mail printed on the console: ``mail.transport = "console://"``."""

from collections.abc import Iterable

from service_core.plugin import Adapter, AdapterSettings, EmailSender, PluginData, PluginInfo, hook


def _open(_settings: AdapterSettings) -> EmailSender:
    from plugins.mail_console.adapter import ConsoleMail

    return ConsoleMail()


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("E-mail on the console", icon="✉", reads=(PluginData.PERSONAL_DATA,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the default."""
    return (
        Adapter(
            port="mail",
            scheme="console",
            open=_open,
            summary="Mail printed on the standard error of the process, for trying out.",
        ),
    )
