"""Domains as a kind of resource, and the hosts they give to links."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from service_core.changes.ports import Holders
from service_core.changes.resource import Kind, Records
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.links.domains.model import DomainClaim, verified_key
from service_core.workspace.links.model import Link, LinkDomain

DOMAIN_KIND: Final = Kind(DomainClaim, Scope.WRITE_LINKS)

Hosts = Mapping[UUID, str]
"""Id of a link domain -> its host: all that the links of a workspace may stand on."""


async def hosts_of(records: Records, shared: LinkDomain | None) -> Hosts:
    """The shared domain and every proved one of the workspace; none in a deployment that follows no links."""
    if shared is None:
        return {}
    own = (claim.domain for claim in await records.every(DomainClaim) if claim.is_verified)
    return {domain.id: domain.host for domain in (shared, *own)}


async def links_on(records: Records, claim: DomainClaim) -> list[Link]:
    """The links that stand on a domain."""
    return await records.every(Link, matching={"domain_id": str(claim.domain.id)})


async def refuse_lapsed(records: Records, domain_id: UUID) -> None:
    """Refuse a new link on a domain whose proof has been gone for too long.

    Raises:
        Unprocessable: ``unknown_domain``.
    """
    for claim in await records.every(DomainClaim):
        if claim.domain.id == domain_id and claim.lapsed_at is not None:
            raise Unprocessable(
                f"The proof of {claim.name} is gone from the DNS",
                "unknown_domain",
                field="link.domain_id",
                hint="Publish its TXT record again and verify it, or name another domain.",
            )


async def is_link_host(holders: Holders, host: str) -> bool:
    """Whether some workspace has proved a host, in lower case, as its own."""
    return await holders.holder(DomainClaim, verified_key(LinkDomain(host))) is not None
