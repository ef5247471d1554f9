"""Addresses that answers name."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PublicUrls:
    """A deployment's public addresses.

    Attributes:
        root_url: of the API host, without a slash at its end.
        web_url: of the web application, without a slash at its end.
    """

    root_url: str
    web_url: str

    def poll_url(self, kind: str, subject: UUID) -> str:
        """Where to ask again: ``keys/requests`` or ``signup``, and an id."""
        return f"{self.root_url}/v1/{kind}/{subject}"

    def approval_url(self, token: str) -> str:
        """The page on which a person decides a request for a key."""
        return f"{self.web_url}/approve?request={token}"
