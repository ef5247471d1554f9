"""The key that seals credentials of connections: ``connections.key = "keyfile:///connections.key"``."""

from collections.abc import Iterable

from plugins.vault_keys.settings import KeyFileSettings, KeyVariableSettings
from service_core.plugin import Adapter, Keeps, Vault, hook


def _open(settings: KeyFileSettings | KeyVariableSettings) -> Vault:
    from plugins.vault_keys.adapter import KeyVault

    return KeyVault(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """The embedded default, and one for containers."""
    file = "Credentials of connections sealed with a key in a file, which is made when it is needed."
    variable = "Credentials of connections sealed with a key in an environment variable."
    return (
        Adapter("vault", "keyfile", _open, KeyFileSettings, file, keeps=Keeps.FILE),
        Adapter("vault", "keyenv", _open, KeyVariableSettings, variable),
    )
