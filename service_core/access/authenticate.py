"""A bearer token or a write key -> who is asking (contract 2.2, 10)."""

from typing import Final

from service_core.access.lookup import CAPACITY, Lookup
from service_core.access.model import CredentialKind, Identity
from service_core.access.ports import Directory
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Unauthorized
from service_core.kernel.ids import AGENT_TOKEN, WRITE_KEY, digest

CHALLENGE: Final = 'Bearer realm="Service Read API"'
READERS: Final = frozenset({CredentialKind.AGENT, CredentialKind.NAMED})


class Authenticator:
    """Finds the credential behind what a request carries.

    A malformed token is refused before the directory is asked; what the directory says, yes or no,
    is remembered for 300 seconds and forgotten at once when a key changes anywhere. While the directory
    cannot tell whether one has, write keys are still believed for their 300 seconds, so that no event is
    lost; keys that read are asked for every time.

    Args:
        directory: where credentials are kept.
        clock: gives the present.
        capacity: look-ups remembered at most.
    """

    def __init__(self, directory: Directory, clock: Clock, capacity: int = CAPACITY) -> None:
        self._lookup = Lookup(directory, clock, capacity)

    async def authenticate(self, authorization: str | None) -> Identity:
        """The Agent key or named key of an ``Authorization`` header.

        Raises:
            Unauthorized: no header, not two parts, another scheme, no token of the right form, or a
                token that matches nothing; all five look the same to the caller.
        """
        token = bearer(authorization)
        if token is None or not AGENT_TOKEN.fullmatch(token):
            raise refused()
        identity = await self._lookup.find(digest(token))
        if identity is None or identity.credential.kind not in READERS:
            raise refused()
        return identity

    async def identify_write_key(self, key: str) -> Identity | None:
        """The write key of an active workspace; None for any other key, however long (contract 10.1)."""
        if not WRITE_KEY.fullmatch(key):
            return None
        return _writer(await self._lookup.find(digest(key), unsure=True))


def bearer(authorization: str | None) -> str | None:
    """The token of ``Bearer <token>``, the scheme in any case; None for anything else."""
    if authorization is None:
        return None
    scheme, _, token = authorization.partition(" ")
    return token if scheme.lower() == "bearer" and token and " " not in token else None


def refused() -> Unauthorized:
    """The one 401 of ``/v1``."""
    return Unauthorized("Invalid or missing API key", headers={"WWW-Authenticate": CHALLENGE})


def _writer(identity: Identity | None) -> Identity | None:
    if identity is None or not identity.workspace.active:
        return None
    return identity if identity.credential.kind is CredentialKind.WRITE else None
