"""Encrypts with AES-256-GCM. The keys are read each time, so a new one counts at once."""

import secrets
from base64 import b64decode
from binascii import Error as NotBase64
from typing import Final

from plugins.cipher_keys.key_file import KEY_BYTES
from plugins.cipher_keys.settings import KeySettings
from service_core.plugin import CipherUnavailable, StartupError

_FORMAT_VERSION: Final = b"\x01"
"""First byte of what is sealed: how it was."""
_NONCE_BYTES: Final = 12


class KeyCipher:
    """Implements the port `SecretCipher`."""

    def __init__(self, settings: KeySettings) -> None:
        self._settings = settings

    async def start(self) -> None:
        """Checks the keys.

        Raises:
            StartupError: there are none, or one is no key.
        """
        await self.check()

    async def check(self) -> None:
        """Checks the keys, and changes nothing.

        Raises:
            StartupError: there are none, or one is no key.
        """
        if not self._settings.must_exist:
            return
        try:
            parse_base64_keys(self._settings.read_keys())
        except CipherUnavailable as fault:
            raise StartupError(fault.reason) from None

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes:
        """Returns the ciphertext; the first key encrypts.

        Raises:
            CipherUnavailable: there is no key.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 10 MB few processes need

        key, *_ = parse_base64_keys(self._settings.read_or_create())
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _FORMAT_VERSION + nonce + AESGCM(key).encrypt(nonce, plaintext, associated_data)

    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes:
        """Returns the plaintext.

        Raises:
            CipherUnavailable: no key opens it.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - likewise
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce, rest = ciphertext[1 : 1 + _NONCE_BYTES], ciphertext[1 + _NONCE_BYTES :]
        for key in (
            parse_base64_keys(self._settings.read_keys()) if ciphertext.startswith(_FORMAT_VERSION) else ()
        ):
            try:
                return AESGCM(key).decrypt(nonce, rest, associated_data)
            except InvalidTag:
                continue
        raise CipherUnavailable(
            "No key of connections.encryption_key opens it. Put its key back, or connect again."
        )


def parse_base64_keys(text: str) -> list[bytes]:
    """Parses keys, in their order.

    Raises:
        CipherUnavailable: there is none, or something else is written there.
    """
    try:
        keys = [
            b64decode(word.translate({ord("-"): "+", ord("_"): "/"}), validate=True) for word in text.split()
        ]
    except NotBase64:
        keys = []
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise CipherUnavailable(
            f"What connections.encryption_key names holds no key. A key is {KEY_BYTES} random bytes in base64, as "
            f"`openssl rand -base64 {KEY_BYTES}` writes them."
        )
    return keys
