"""Ports for the credentials of connections and their encryption."""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from service_core.analytics.ports import StoreUnavailable


class CipherUnavailable(StoreUnavailable):
    """Credentials cannot be encrypted or decrypted: the key is missing or is another one.

    Args:
        reason: what is wrong and what to do, for the operator; it stands in no response.
    """

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class ConnectionSecrets(Protocol):
    """Credentials of connections, sealed where they are kept; never in an answer or a log."""

    async def find_secrets(self, workspace_id: UUID, provider: str) -> Mapping[str, str] | None:
        """Returns the credentials of a connection by name, such as ``webhook_secret``; None when it has none.

        Raises:
            StoreUnavailable: they cannot be read.
            CipherUnavailable: as the above, since no key of this deployment opens them.
        """

    async def list_connections_with_secrets(self) -> Sequence[tuple[UUID, str]]:
        """Workspace and provider of every connection that has some.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def replace_or_delete_secrets(
        self, workspace_id: UUID, provider: str, secrets: Mapping[str, str]
    ) -> None:
        """Replaces the credentials of a connection; an empty mapping deletes them. They go when the connection is removed.

        Raises:
            CipherUnavailable: this deployment has no key to seal them with; nothing is kept.
        """


class SecretCipher(Protocol):
    """Seals what only this deployment may read, with a key of its own."""

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes:
        """Encrypts a text with the key of the deployment.

        Args:
            plaintext: what to encrypt.
            associated_data: identifies the owner; decryption needs the same bytes.

        Raises:
            CipherUnavailable: there is no key.
        """

    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes:
        """Decrypts a ciphertext with any key of the deployment.

        Raises:
            CipherUnavailable: none of them opens it.
        """


class EncryptedSecretStore(Protocol):
    """Stores encrypted credentials, one value per connection."""

    async def encrypted_secrets(self, workspace_id: UUID, provider: str) -> bytes | None:
        """Returns the encrypted credentials of a connection.

        Raises:
            StoreUnavailable: it cannot be read.
        """

    async def list_connections_with_encrypted_secrets(self) -> Sequence[tuple[UUID, str]]:
        """Workspace and provider of every connection of which something is kept.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def replace_or_delete_encrypted_secrets(
        self, workspace_id: UUID, provider: str, ciphertext: bytes | None
    ) -> None:
        """Replace it; None forgets it."""
