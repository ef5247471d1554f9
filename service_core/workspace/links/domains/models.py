"""The claim of a workspace to a host name, and the DNS record that verifies it."""

import hashlib
import re
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final
from uuid import UUID

from service_core.changes.resource import MillisecondDatetime, Resource, ResourceType
from service_core.kernel.errors import ApiError, Conflict, Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.links.models import LinkDomain
from service_core.workspace.url_rules import is_private_or_numeric_host

MAX_HOST_LENGTH: Final = 241
"""Characters of a host name at most, so that a DNS name has room for the label of the record."""

MISSING_RECORD_GRACE: Final = timedelta(days=7)
"""Time for which the record of a verified domain can be missing before new links are refused."""

_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class LinkDomainClaim(Resource):
    """A host name that a workspace claims. Links can use it once its DNS record was found.

    ``name`` is the host in lower case and ASCII. Several workspaces can have a pending claim to a host;
    one workspace of the deployment can have a verified one.

    Attributes:
        verified_at: when the record was found; None while the claim is pending.
        missing_since: when the record was first missing again; None while it is there.
        lapsed_at: when the record had been missing for `MISSING_RECORD_GRACE`.
        pending_recipients: accounts that are still to be notified of the present state.
    """

    resource_type: ClassVar[str] = "link_domain"
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"pending_recipients"})

    verified_at: MillisecondDatetime | None = None
    missing_since: MillisecondDatetime | None = None
    lapsed_at: MillisecondDatetime | None = None
    pending_recipients: tuple[UUID, ...] = ()

    @property
    def link_domain(self) -> LinkDomain:
        """The link domain that links refer to by its id."""
        return LinkDomain(self.name)

    @property
    def is_verified(self) -> bool:
        """Whether its links redirect."""
        return self.verified_at is not None

    @property
    def is_record_present(self) -> bool:
        """Whether the record was there at the last check."""
        return self.is_verified and self.missing_since is None

    @property
    def notice_state(self) -> tuple[datetime | None, ...]:
        """The state that members are notified of when it changes."""
        return self.verified_at, self.missing_since, self.lapsed_at

    @property
    def txt_record_name(self) -> str:
        """Name of the TXT record that verifies the claim."""
        return f"_touchpoint.{self.name}"

    @property
    def verification_value(self) -> str:
        """Value of that record; it differs by workspace and by host."""
        digest = hashlib.sha256(f"{self.workspace_id}\n{self.name}".encode()).hexdigest()
        return f"touchpoint-verification={digest[:32]}"

    @property
    def zone_file_line(self) -> str:
        """The record as a line of a zone file."""
        return f'{self.txt_record_name}. TXT "{self.verification_value}"'

    def mark_verified(self, now: datetime) -> "LinkDomainClaim":
        """Returns the claim after its record was found."""
        return self._replace_if_notice_state_changes(
            now,
            verified_at=self.verified_at or now,
            missing_since=None,
            lapsed_at=None,
            pending_recipients=(),
        )

    def mark_missing_lapsed_or_pending_again(
        self, now: datetime, *, in_use: bool, recipients: tuple[UUID, ...] = ()
    ) -> "LinkDomainClaim":
        """Returns the claim after its record was missing. It is pending again after a while, unless links use it.

        Args:
            now: time of the check.
            in_use: whether links use the domain.
            recipients: accounts to notify if the state changes.
        """
        since = self.missing_since or now
        if now - since < MISSING_RECORD_GRACE:
            return self._replace_if_notice_state_changes(
                now, missing_since=since, pending_recipients=recipients
            )
        if in_use:
            return self._replace_if_notice_state_changes(
                now, lapsed_at=self.lapsed_at or now, pending_recipients=recipients
            )
        return self._replace_if_notice_state_changes(
            now, verified_at=None, missing_since=None, lapsed_at=None, pending_recipients=recipients
        )

    def _replace_if_notice_state_changes(self, now: datetime, **fields: Any) -> "LinkDomainClaim":
        changed = self.with_fields(now, **fields)
        return self if changed.notice_state == self.notice_state else changed

    def unique_keys(self) -> tuple[str, ...]:
        """Returns the key of the claim in its workspace and, once verified, of the host in the deployment."""
        claim = f"claim:{self.workspace_id.hex}/{self.link_domain.id.hex}"
        return (claim, verified_domain_key(self.link_domain)) if self.is_verified else (claim,)

    def unique_key_error(self, key: str) -> ApiError:
        """Returns the conflict with a claim of the workspace, or with a verified claim of another one."""
        if key == verified_domain_key(self.link_domain):
            return Conflict(
                f"{self.name} is in use by another workspace of this deployment",
                hint="It has to be removed there first.",
            )
        return Conflict(f"{self.name} is among your domains already")


LINK_DOMAIN_TYPE: Final = ResourceType(LinkDomainClaim, Scope.WRITE_LINKS)


def verified_domain_key(domain: LinkDomain) -> str:
    """Returns the unique key of a verified host, by which link domains are looked up."""
    return f"domain:{domain.id.hex}"


def normalize_public_host(text: str) -> str:
    """Returns a host name in lower case and ASCII.

    Args:
        text: user input; characters beyond ASCII are encoded by IDNA.

    Raises:
        Unprocessable: ``invalid_field``, the text is no public host name.
    """
    name = text.strip().rstrip(".").lower()
    try:
        host = name.encode("idna").decode("ascii")
    except UnicodeError:
        host = ""
    if len(host) > MAX_HOST_LENGTH or not _HOST.fullmatch(host) or is_private_or_numeric_host(host):
        raise Unprocessable(
            "This is no public host name",
            "invalid_field",
            field="domain",
            hint="Send a name such as go.example.com, without https:// and without a path.",
        )
    return host
