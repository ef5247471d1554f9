"""The key that encrypts the credentials of connections: ``connections.encryption_key = "keyfile:///connections.key"``."""

from collections.abc import Iterable
from typing import Final

from plugins.cipher_keys.declaration import plugin_info as plugin_info
from plugins.cipher_keys.settings import KeyFileSettings, KeySettings, KeyVariableSettings, MountedKeySettings
from service_core.plugin import Adapter, LocalDataKind, SecretCipher, hook

_SUMMARY: Final = "Credentials of connections encrypted with a key in"


def _open(settings: KeySettings) -> SecretCipher:
    from plugins.cipher_keys.adapter import KeyCipher

    return KeyCipher(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default, and two adapters for containers."""
    file, mounted = f"{_SUMMARY} a generated file.", f"{_SUMMARY} an existing file, such as a mounted secret."
    return (
        Adapter("secret_cipher", "keyfile", _open, KeyFileSettings, file, local_data=LocalDataKind.FILE),
        Adapter("secret_cipher", "keymount", _open, MountedKeySettings, mounted),
        Adapter(
            "secret_cipher", "keyenv", _open, KeyVariableSettings, f"{_SUMMARY} an environment variable."
        ),
    )
