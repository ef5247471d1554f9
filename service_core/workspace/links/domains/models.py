"""The claim of a workspace to a host name, and the line in its DNS that proves it."""

import hashlib
import re
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final
from uuid import UUID

from service_core.changes.resource import MillisecondDatetime, Resource, ResourceType
from service_core.kernel.errors import ApiError, Conflict, Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.links.models import LinkDomain
from service_core.workspace.url_rules import is_private_host

MAX_HOST_LENGTH: Final = 241
"""Letters of a host that leave room in a DNS name for the label of the record."""

MISSING_RECORD_GRACE: Final = timedelta(days=7)
"""How long a proof may be gone before a domain takes no new links."""

_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class LinkDomainClaim(Resource):
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
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"to_tell"})

    verified_at: MillisecondDatetime | None = None
    missing_since: MillisecondDatetime | None = None
    lapsed_at: MillisecondDatetime | None = None
    to_tell: tuple[UUID, ...] = ()

    @property
    def link_domain(self) -> LinkDomain:
        """What links name by its id."""
        return LinkDomain(self.name)

    @property
    def is_verified(self) -> bool:
        """Whether links stand on it; of a lapsed one those that did before."""
        return self.verified_at is not None

    @property
    def is_record_present(self) -> bool:
        """Whether its proof was there when it was last looked for."""
        return self.is_verified and self.missing_since is None

    @property
    def notice_state(self) -> tuple[datetime | None, ...]:
        """What people are told of."""
        return self.verified_at, self.missing_since, self.lapsed_at

    @property
    def txt_record_name(self) -> str:
        """Name of the TXT record that proves the claim."""
        return f"_touchpoint.{self.name}"

    @property
    def verification_value(self) -> str:
        """What that record says; no other workspace and no other host has the same."""
        told = hashlib.sha256(f"{self.workspace_id}\n{self.name}".encode()).hexdigest()
        return f"touchpoint-verification={told[:32]}"

    @property
    def zone_file_line(self) -> str:
        """The record as zone files write it."""
        return f'{self.txt_record_name}. TXT "{self.verification_value}"'

    def mark_verified(self, now: datetime) -> "LinkDomainClaim":
        """The claim once its proof was seen; nobody has to be told of that."""
        seen = self.verified_at or now
        return self._replace_fields(now, verified_at=seen, missing_since=None, lapsed_at=None, to_tell=())

    def mark_record_missing(
        self, now: datetime, *, in_use: bool, to_tell: tuple[UUID, ...] = ()
    ) -> "LinkDomainClaim":
        """The claim once its proof was seen to be gone: pending again after a while, unless links stand on it.

        Args:
            now: when it was looked for.
            in_use: whether links stand on it.
            to_tell: who has to be told, if it stands otherwise from now on.
        """
        since = self.missing_since or now
        if now - since < MISSING_RECORD_GRACE:
            return self._replace_fields(now, missing_since=since, to_tell=to_tell)
        if in_use:
            return self._replace_fields(now, lapsed_at=self.lapsed_at or now, to_tell=to_tell)
        return self._replace_fields(
            now, verified_at=None, missing_since=None, lapsed_at=None, to_tell=to_tell
        )

    def _replace_fields(self, now: datetime, **fields: Any) -> "LinkDomainClaim":
        found = LinkDomainClaim.model_validate(
            {**self.state, **fields, "updated_at": self.next_updated_at(now)}
        )
        return self if found.notice_state == self.notice_state else found

    def unique_keys(self) -> tuple[str, ...]:
        """The claim in its workspace; with a proof also the host in the deployment."""
        claim = f"claim:{self.workspace_id.hex}/{self.link_domain.id.hex}"
        return (claim, verified_domain_key(self.link_domain)) if self.is_verified else (claim,)

    def unique_key_error(self, key: str) -> ApiError:
        """The host is claimed here already, or proved elsewhere."""
        if key == verified_domain_key(self.link_domain):
            return Conflict(
                f"{self.name} is in use by another workspace of this deployment",
                hint="It has to be removed there first.",
            )
        return Conflict(f"{self.name} is among your domains already")


LINK_DOMAIN_TYPE: Final = ResourceType(LinkDomainClaim, Scope.WRITE_LINKS)


def verified_domain_key(domain: LinkDomain) -> str:
    """The unique key of a host with a proof: the link host knows its domains by it."""
    return f"domain:{domain.id.hex}"


def normalize_host(text: str) -> str:
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
    if len(host) > MAX_HOST_LENGTH or not _HOST.fullmatch(host) or is_private_host(host):
        raise Unprocessable(
            "This is no public host name",
            "invalid_field",
            field="domain",
            hint="Send a name such as go.example.com, without https:// and without a path.",
        )
    return host
