"""Passwords hashed with Argon2id: ``accounts.password_hashing = "argon2://"``."""

from collections.abc import Iterable

from plugins.passwords_argon2.settings import Argon2Settings
from service_core.plugin import Adapter, Passwords, PluginData, PluginInfo, hook


def _open(settings: Argon2Settings) -> Passwords:
    from plugins.passwords_argon2.adapter import Argon2Passwords

    return Argon2Passwords(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Argon2", icon="A", reads=(PluginData.WORKSPACES,))


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the default."""
    summary = "Passwords hashed with Argon2id, few at a time."
    return (Adapter("passwords", "argon2", _open, Argon2Settings, summary),)
