"""A trackable link, and the domain its slug stands on."""

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
from service_core.workspace.links.link_url import append_link_parameters

UTM_PARAMETERS: Final = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")
TRACKING_IDENTIFIER_LENGTH: Final = 8
SLUG_LENGTH: Final = 7
_IDENTIFIER_ALPHABET: Final = string.ascii_lowercase + string.digits
_SLUG_ALPHABET: Final = string.ascii_letters + string.digits

Target = Literal["web", "app"]


@dataclass(frozen=True, slots=True)
class LinkDomain:
    """A host of redirect links; its id follows from its name, so the link host finds slugs without a table of hosts."""

    host: str

    @property
    def id(self) -> UUID:
        """The id on the wire."""
        return uuid5(NAMESPACE_DNS, self.host)


def shared_link_domain(settings: Settings) -> LinkDomain | None:
    """Returns the link domain that all workspaces of the deployment share; None when it has none."""
    return LinkDomain(settings.links.domain.lower()) if settings.links.domain else None


class TrackingLink(Resource):
    """A trackable link as it is stored.

    One with a domain redirects and has a slug there; one without leads to its destination directly.
    Recorded events carry the tracking identifier, so it never changes.
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
        """Its name, its tag, and its slug if it has one."""
        known = self.name, self.tracking_identifier, self.slug
        return tuple(name for name in known if name)

    def unique_keys(self) -> tuple[str, ...]:
        """The tracking identifier in the workspace, and the slug on its domain."""
        own = tracking_identifier_key(self.workspace_id, self.tracking_identifier)
        if self.domain_id is None or self.slug is None:
            return (own,)
        return own, slug_key(self.domain_id, self.slug)

    def unique_key_error(self, key: str) -> ApiError:
        """A slug that is taken, or an identifier that somebody restored has again."""
        if key.startswith(_SLUG_KEY_PREFIX):
            return Conflict("This slug is taken", "slug_taken", field="link.slug")
        return super().unique_key_error(key)


_SLUG_KEY_PREFIX: Final = "slug:"


def slug_key(domain_id: UUID, slug: str) -> str:
    """The unique key of a slug: the edge finds a link by it."""
    return f"{_SLUG_KEY_PREFIX}{domain_id.hex}/{slug}"


def tracking_identifier_key(workspace_id: UUID, identifier: str) -> str:
    """The unique key of a tracking identifier."""
    return f"lyr:{workspace_id.hex}/{identifier}"


def new_tracking_identifier() -> str:
    """A tracking identifier: the ``lyr`` value of a link."""
    return "".join(secrets.choice(_IDENTIFIER_ALPHABET) for _ in range(TRACKING_IDENTIFIER_LENGTH))


def new_slug() -> str:
    """A slug for who names none."""
    return "".join(secrets.choice(_SLUG_ALPHABET) for _ in range(SLUG_LENGTH))


def public_url(state: Mapping[str, Any], host: str | None) -> str | None:
    """What to publish; None while a dry run does not know it.

    Args:
        state: a link as JSON values.
        host: of its domain; None when it has none, or one that is not set up any more.
    """
    if state["domain_id"] is not None:
        return f"https://{host}/{state['slug']}" if host and state["slug"] else None
    if state["tracking_identifier"] is None:
        return None
    utm = {name: state[name] for name in UTM_PARAMETERS if state[name]}
    return append_link_parameters(state["destination_url"], state["tracking_identifier"], utm)
