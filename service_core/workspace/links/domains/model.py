"""The claim of a workspace to a host name, and the line in its DNS that proves it."""

import hashlib
import re
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final
from uuid import UUID

from service_core.changes.resource import Moment, Resource
from service_core.kernel.errors import Conflict, Refusal, Unprocessable
from service_core.workspace.addresses import is_private
from service_core.workspace.links.model import LinkDomain

LONGEST_HOST: Final = 241
"""Letters of a host that leave room in a DNS name for the label of the record."""

GRACE: Final = timedelta(days=7)
"""How long a proof may be gone before a domain takes no new links."""

_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class DomainClaim(Resource):
    """A host that a workspace says is its own; links stand on it once its DNS says so, too.

    ``name`` is the host in lower case and ASCII. A claim without proof keeps nobody else away; of those
    with a proof there is one in the deployment.

    Attributes:
        verified_at: when its proof was found; None while it is pending.
        missing_since: when the proof was first looked for again and gone; None while it is there.
        lapsed_at: when it had been gone for `GRACE`.
        to_tell: accounts of those who have still to be told how it stands.
    """

    resource_type: ClassVar[str] = "link_domain"
    untold: ClassVar[frozenset[str]] = frozenset({"to_tell"})

    verified_at: Moment | None = None
    missing_since: Moment | None = None
    lapsed_at: Moment | None = None
    to_tell: tuple[UUID, ...] = ()

    @property
    def domain(self) -> LinkDomain:
        """What links name by its id."""
        return LinkDomain(self.name)

    @property
    def is_verified(self) -> bool:
        """Whether links stand on it; of a lapsed one those that did before."""
        return self.verified_at is not None

    @property
    def is_proved(self) -> bool:
        """Whether its proof was there when it was last looked for."""
        return self.is_verified and self.missing_since is None

    @property
    def standing(self) -> tuple[datetime | None, ...]:
        """What people are told of."""
        return self.verified_at, self.missing_since, self.lapsed_at

    @property
    def record(self) -> str:
        """Name of the TXT record that proves the claim."""
        return f"_touchpoint.{self.name}"

    @property
    def proof(self) -> str:
        """What that record says; no other workspace and no other host has the same."""
        told = hashlib.sha256(f"{self.workspace_id}\n{self.name}".encode()).hexdigest()
        return f"touchpoint-verification={told[:32]}"

    @property
    def line(self) -> str:
        """The record as zone files write it."""
        return f'{self.record}. TXT "{self.proof}"'

    def proved(self, now: datetime) -> "DomainClaim":
        """The claim once its proof was seen; nobody has to be told of that."""
        seen = self.verified_at or now
        return self._with(now, verified_at=seen, missing_since=None, lapsed_at=None, to_tell=())

    def unproved(self, now: datetime, *, in_use: bool, to_tell: tuple[UUID, ...] = ()) -> "DomainClaim":
        """The claim once its proof was seen to be gone: pending again after a while, unless links stand on it.

        Args:
            now: when it was looked for.
            in_use: whether links stand on it.
            to_tell: who has to be told, if it stands otherwise from now on.
        """
        since = self.missing_since or now
        if now - since < GRACE:
            return self._with(now, missing_since=since, to_tell=to_tell)
        if in_use:
            return self._with(now, lapsed_at=self.lapsed_at or now, to_tell=to_tell)
        return self._with(now, verified_at=None, missing_since=None, lapsed_at=None, to_tell=to_tell)

    def _with(self, now: datetime, **fields: Any) -> "DomainClaim":
        found = DomainClaim.model_validate({**self.state, **fields, "updated_at": self.changed_at(now)})
        return self if found.standing == self.standing else found

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
