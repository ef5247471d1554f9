"""The key that seals credentials of connections: ``connections.key = "keyfile:///connections.key"``."""

from collections.abc import Iterable

from plugins.vault_keys.settings import KeyFileSettings, KeySettings, KeyVariableSettings, MountedKeySettings
from service_core.plugin import Adapter, LocalDataKind, SecretCipher, hook


def _open(settings: KeySettings) -> SecretCipher:
    from plugins.vault_keys.adapter import KeyVault

    return KeyVault(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """The embedded default, and two for containers."""
    sealed = "Credentials of connections sealed with a key in"
    return (
        Adapter(
            "vault",
            "keyfile",
            _open,
            KeyFileSettings,
            f"{sealed} a file that is made.",
            local_data=LocalDataKind.FILE,
        ),
        Adapter(
            "vault",
            "keymount",
            _open,
            MountedKeySettings,
            f"{sealed} a file that is there, such as a mounted secret.",
        ),
        Adapter("vault", "keyenv", _open, KeyVariableSettings, f"{sealed} an environment variable."),
    )
