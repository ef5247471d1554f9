"""The key that seals credentials of connections: ``connections.key = "keyfile:///connections.key"``."""

from collections.abc import Iterable

from plugins.vault_keys.settings import FileSettings, KeySettings, MountSettings, VariableSettings
from service_core.plugin import Adapter, Keeps, Vault, hook


def _open(settings: KeySettings) -> Vault:
    from plugins.vault_keys.adapter import KeyVault

    return KeyVault(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """The embedded default, and two for containers."""
    sealed = "Credentials of connections sealed with a key in"
    return (
        Adapter("vault", "keyfile", _open, FileSettings, f"{sealed} a file that is made.", keeps=Keeps.FILE),
        Adapter(
            "vault",
            "keymount",
            _open,
            MountSettings,
            f"{sealed} a file that is there, such as a mounted secret.",
        ),
        Adapter("vault", "keyenv", _open, VariableSettings, f"{sealed} an environment variable."),
    )
