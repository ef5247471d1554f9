"""The claim of a workspace to a host name, and the line in its DNS that proves it."""

import hashlib
import re
from typing import ClassVar, Final

from service_core.changes.resource import Moment, Resource
from service_core.kernel.errors import Conflict, Refusal, Unprocessable
from service_core.workspace.addresses import is_private
from service_core.workspace.links.model import LinkDomain

LONGEST_HOST: Final = 241
"""Letters of a host that leave room in a DNS name for the label of the record."""

_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class DomainClaim(Resource):
    """A host that a workspace says is its own; links stand on it once its DNS says so, too.

    ``name`` is the host in lower case and ASCII. A claim without proof keeps nobody else away; of those
    with a proof there is one in the deployment. Its proof is kept, not repeated.
    """

    resource_type: ClassVar[str] = "link_domain"

    verified_at: Moment | None = None

    @property
    def domain(self) -> LinkDomain:
        """What links name by its id."""
        return LinkDomain(self.name)

    @property
    def is_verified(self) -> bool:
        """Whether links may stand on it."""
        return self.verified_at is not None

    @property
    def record(self) -> str:
        """Name of the TXT record that proves the claim."""
        return f"_touchpoint.{self.name}"

    @property
    def proof(self) -> str:
        """What that record says; no other workspace and no other host has the same."""
        told = hashlib.sha256(f"{self.workspace_id}\n{self.name}".encode()).hexdigest()
        return f"touchpoint-verification={told[:32]}"

    def unique_keys(self) -> tuple[str, ...]:
        """The claim in its workspace; with a proof also the host in the deployment."""
        claim = f"claim:{self.workspace_id.hex}/{self.domain.id.hex}"
        return (claim, verified_key(self.domain)) if self.is_verified else (claim,)

    def refusal(self, key: str) -> Refusal:
        """The host is claimed here already, or proved elsewhere."""
        if key == verified_key(self.domain):
            return Conflict(
                f"{self.name} is in use by another workspace of this deployment",
                hint="It has to be removed there first.",
            )
        return Conflict(f"{self.name} is among your domains already")


def verified_key(domain: LinkDomain) -> str:
    """The unique key of a host with a proof: the link host knows its domains by it."""
    return f"domain:{domain.id.hex}"


def host_of(text: str) -> str:
    """A host as it is written in requests.

    Args:
        text: what somebody typed; letters beyond ASCII are encoded by IDNA.

    Raises:
        Unprocessable: ``invalid_field``, it is no public host name.
    """
    name = text.strip().rstrip(".").lower()
    try:
        host = name.encode("idna").decode("ascii")
    except UnicodeError:
        host = ""
    if len(host) > LONGEST_HOST or not _HOST.fullmatch(host) or is_private(host):
        raise Unprocessable(
            "This is no public host name",
            "invalid_field",
            field="domain",
            hint="Send a name such as go.example.com, without https:// and without a path.",
        )
    return host
