"""The key that encrypts the credentials of connections: ``connections.encryption_key = "keyfile:///connections.key"``."""

from collections.abc import Iterable
from typing import Final

from plugins.vault_keys.settings import KeyFileSettings, KeySettings, KeyVariableSettings, MountedKeySettings
from service_core.plugin import Adapter, LocalDataKind, SecretCipher, hook

_SUMMARY: Final = "Credentials of connections encrypted with a key in"


def _open(settings: KeySettings) -> SecretCipher:
    from plugins.vault_keys.adapter import KeyVault

    return KeyVault(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default, and two adapters for containers."""
    file, mounted = f"{_SUMMARY} a generated file.", f"{_SUMMARY} an existing file, such as a mounted secret."
    return (
        Adapter("vault", "keyfile", _open, KeyFileSettings, file, local_data=LocalDataKind.FILE),
        Adapter("vault", "keymount", _open, MountedKeySettings, mounted),
        Adapter("vault", "keyenv", _open, KeyVariableSettings, f"{_SUMMARY} an environment variable."),
    )
