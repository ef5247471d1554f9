"""Trackable links and link domains."""

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal
from uuid import NAMESPACE_DNS, UUID, uuid5

from pydantic import Field

from service_core.changes.resource import Resource
from service_core.kernel.errors import ApiError, Conflict
from service_core.kernel.settings import Settings
from service_core.workspace.links.link_url import append_missing_link_parameters

UTM_PARAMETERS: Final = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
TRACKING_IDENTIFIER_LENGTH: Final = 8
SLUG_LENGTH: Final = 7
_IDENTIFIER_ALPHABET: Final = string.ascii_lowercase + string.digits
_SLUG_ALPHABET: Final = string.ascii_letters + string.digits

Target = Literal["web", "app"]


@dataclass(frozen=True, slots=True)
class LinkDomain:
    """A host of redirect links. Its id is derived from its name, so slugs are looked up without a table of hosts."""

    host: str

    @property
    def id(self) -> UUID:
        """The id in requests and answers."""
        return uuid5(NAMESPACE_DNS, self.host)


PATH_LINK_PREFIX: Final = "/l/"
"""Path of the ingest host under which links redirect while the deployment has no link domain."""

PATH_LINK_DOMAIN: Final = LinkDomain("_path")
"""The domain of these links. No request can name it as its host: host names have no underscore."""


def shared_link_domain(settings: Settings) -> LinkDomain | None:
    """Returns the link domain that all workspaces of the deployment share; None when it has none."""
    return LinkDomain(settings.links.domain.lower()) if settings.links.domain else None


class TrackingLink(Resource):
    """A stored trackable link.

    A link with a domain redirects and has a slug; a link without one is its destination with parameters appended.
    Recorded events contain the tracking identifier, so it never changes.
    """

    resource_type: ClassVar[str] = "tracking_link"

    domain_id: UUID | None
    destination_url: str
    tracking_identifier: str = Field(description="The `lyr` value; it never changes.")
    slug: str | None
    target: Target
    ios_url: str | None
    android_url: str | None
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    utm_term: str | None
    utm_content: str | None

    def search_names(self) -> tuple[str, ...]:
        """Returns name, tracking identifier and slug."""
        names = self.name, self.tracking_identifier, self.slug
        return tuple(name for name in names if name)

    def unique_keys(self) -> tuple[str, ...]:
        """Returns the key of the tracking identifier in the workspace, and of the slug on its domain."""
        own = tracking_identifier_key(self.workspace_id, self.tracking_identifier)
        if self.domain_id is None or self.slug is None:
            return (own,)
        return own, slug_key(self.domain_id, self.slug)

    def unique_key_error(self, key: str) -> ApiError:
        """Returns the conflict of a slug that is taken, or of a restored tracking identifier."""
        if key.startswith(_SLUG_KEY_PREFIX):
            return Conflict("This slug is taken", "slug_taken", field="link.slug")
        return super().unique_key_error(key)


_SLUG_KEY_PREFIX: Final = "slug:"


def slug_key(domain_id: UUID, slug: str) -> str:
    """Returns the unique key of a slug, by which redirects are looked up."""
    return f"{_SLUG_KEY_PREFIX}{domain_id.hex}/{slug}"


def tracking_identifier_key(workspace_id: UUID, identifier: str) -> str:
    """Returns the unique key of a tracking identifier."""
    return f"lyr:{workspace_id.hex}/{identifier}"


def new_tracking_identifier() -> str:
    """Returns a random tracking identifier, the ``lyr`` value of a link."""
    return "".join(secrets.choice(_IDENTIFIER_ALPHABET) for _ in range(TRACKING_IDENTIFIER_LENGTH))


def new_slug() -> str:
    """Returns a random slug."""
    return "".join(secrets.choice(_SLUG_ALPHABET) for _ in range(SLUG_LENGTH))


def public_url_if_known(link_state: Mapping[str, Any], base_url: str | None) -> str | None:
    """Returns the URL to publish; None while a dry run does not know it.

    Args:
        link_state: state of the link.
        base_url: URL of its domain, without a trailing slash; None when the link has no domain, or the domain is gone.
    """
    if link_state["domain_id"] is not None:
        return f"{base_url}/{link_state['slug']}" if base_url and link_state["slug"] else None
    if link_state["tracking_identifier"] is None:
        return None
    utm = {name: link_state[name] for name in UTM_PARAMETERS if link_state[name]}
    return append_missing_link_parameters(
        link_state["destination_url"], link_state["tracking_identifier"], utm
    )
