"""Passwords hashed with Argon2id: ``accounts.password_hashing = "argon2://"``."""

from collections.abc import Iterable

from plugins.passwords_argon2.settings import Argon2Settings
from service_core.plugin import Adapter, Passwords, hook


def _open(settings: Argon2Settings) -> Passwords:
    from plugins.passwords_argon2.adapter import Argon2Passwords

    return Argon2Passwords(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the default."""
    return (
        Adapter(
            port="passwords",
            scheme="argon2",
            open=_open,
            settings=Argon2Settings,
            summary="Passwords hashed with Argon2id, few at a time.",
        ),
    )
