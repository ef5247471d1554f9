"""Encrypted credentials as they are stored."""

from dataclasses import dataclass, field
from uuid import UUID


@dataclass(frozen=True, slots=True)
class EncryptedSecrets:
    """The credentials of one connection, encrypted."""

    workspace_id: UUID
    provider: str
    ciphertext: bytes = field(repr=False)
