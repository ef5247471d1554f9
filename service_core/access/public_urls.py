"""Public URLs that answers contain."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PublicUrls:
    """Builds public URLs of a deployment.

    Attributes:
        root_url: URL of the API host, without a trailing slash.
        web_url: URL of the web application, without a trailing slash.
    """

    root_url: str
    web_url: str

    def poll_url(self, resource_path: str, resource_id: UUID) -> str:
        """Returns the URL to poll a resource.

        Args:
            resource_path: ``keys/requests`` or ``signup``.
            resource_id: id of the key request or signup.
        """
        return f"{self.root_url}/v1/{resource_path}/{resource_id}"

    def approval_url(self, approval_token: str) -> str:
        """Returns the URL of the page where a person approves or denies a key request."""
        return f"{self.web_url}/approve?request={approval_token}"
