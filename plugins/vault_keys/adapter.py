"""Sealing with AES-256-GCM. The keys are read each time: one that is added counts at once."""

import secrets
from base64 import b64decode
from binascii import Error as NotBase64
from typing import Final

from plugins.vault_keys.making import KEY_BYTES
from plugins.vault_keys.settings import KeySettings
from service_core.plugin import StartupError, VaultShut

_FORM: Final = b"\x01"
"""First byte of what is sealed: how it was."""
_NONCE_BYTES: Final = 12


class KeyVault:
    """Implements the port `Vault`."""

    def __init__(self, settings: KeySettings) -> None:
        self._settings = settings

    async def start(self) -> None:
        """Look at the keys.

        Raises:
            StartupError: there are none, or one is no key.
        """
        await self.check()

    async def check(self) -> None:
        """Look at the keys, and change nothing.

        Raises:
            StartupError: there are none, or one is no key.
        """
        if not self._settings.is_needed:
            return
        try:
            keys_of(self._settings.read())
        except VaultShut as fault:
            raise StartupError(fault.reason) from None

    def seal(self, plain: bytes, bound_to: bytes) -> bytes:
        """What nobody reads or changes without the key; the first key there is seals.

        Raises:
            VaultShut: there is no key.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 10 MB few processes need

        key, *_ = keys_of(self._settings.read_or_make())
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _FORM + nonce + AESGCM(key).encrypt(nonce, plain, bound_to)

    def unseal(self, sealed: bytes, bound_to: bytes) -> bytes:
        """What was sealed.

        Raises:
            VaultShut: no key opens it.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - likewise
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce, rest = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        for key in keys_of(self._settings.read()) if sealed.startswith(_FORM) else ():
            try:
                return AESGCM(key).decrypt(nonce, rest, bound_to)
            except InvalidTag:
                continue
        raise VaultShut("No key of connections.key opens it. Put its key back, or connect again.")


def keys_of(text: str) -> list[bytes]:
    """Keys in the order they are written.

    Raises:
        VaultShut: there is none, or something else is written there.
    """
    try:
        keys = [
            b64decode(word.translate({ord("-"): "+", ord("_"): "/"}), validate=True) for word in text.split()
        ]
    except NotBase64:
        keys = []
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise VaultShut(
            f"What connections.key names holds no key. A key is {KEY_BYTES} random bytes in base64, as "
            f"`openssl rand -base64 {KEY_BYTES}` writes them."
        )
    return keys
