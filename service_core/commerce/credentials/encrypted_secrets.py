"""Encrypts the credentials of connections before they are stored."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from service_core.commerce.credentials.ports import (
    CipherUnavailable,
    EncryptedSecretStore,
    SecretCipher,
)

_log: Final = logging.getLogger("touchpoint.connections")


@dataclass(frozen=True, slots=True)
class EncryptedConnectionSecrets:
    """Implements the port `ConnectionSecrets`: the store never sees what it keeps.

    A ciphertext is bound to its connection: moved to another row, it cannot be decrypted.
    """

    store: EncryptedSecretStore
    cipher: SecretCipher

    async def find_secrets(self, workspace_id: UUID, provider: str) -> Mapping[str, str] | None:
        """Returns the decrypted credentials of a connection; None if it has none.

        Raises:
            StoreUnavailable: they cannot be read.
            CipherUnavailable: as the above, since no key of this deployment opens them; the reason is logged.
        """
        sealed = await self.store.encrypted_secrets(workspace_id, provider)
        if sealed is None:
            return None
        try:
            opened: Mapping[str, str] = json.loads(
                self.cipher.decrypt(sealed, _associated_data(workspace_id, provider))
            )
        except CipherUnavailable as fault:
            _log.error("credentials of %s of workspace %s: %s", provider, workspace_id, fault.reason)
            raise
        return opened

    async def list_connections_with_secrets(self) -> Sequence[tuple[UUID, str]]:
        """Workspace and provider of every connection that has some.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        return await self.store.list_connections_with_encrypted_secrets()

    async def replace_or_delete_secrets(
        self, workspace_id: UUID, provider: str, secrets: Mapping[str, str]
    ) -> None:
        """Encrypts and replaces the credentials of a connection; an empty mapping deletes them.

        Raises:
            CipherUnavailable: this deployment has no key to seal them with; nothing is kept.
        """
        sealed = encrypt_secrets(self.cipher, workspace_id, provider, secrets) if secrets else None
        await self.store.replace_or_delete_encrypted_secrets(workspace_id, provider, sealed)


def encrypt_secrets(
    cipher: SecretCipher, workspace_id: UUID, provider: str, secrets: Mapping[str, str]
) -> bytes:
    """Returns the credentials of a connection, encrypted.

    Raises:
        CipherUnavailable: this deployment has no key.
    """
    return cipher.encrypt(json.dumps(dict(secrets)).encode(), _associated_data(workspace_id, provider))


def _associated_data(workspace_id: UUID, provider: str) -> bytes:
    return workspace_id.bytes + provider.encode()
