"""Domains as a kind of resource, and the hosts they give to links."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from service_core.changes.ports import Holders
from service_core.changes.resource import Kind, Records
from service_core.kernel.operations import Scope
from service_core.workspace.links.domains.model import DomainClaim, verified_key
from service_core.workspace.links.model import LinkDomain

DOMAIN_KIND: Final = Kind(DomainClaim, Scope.WRITE_LINKS)

Hosts = Mapping[UUID, str]
"""Id of a link domain -> its host: all that the links of a workspace may stand on."""


async def hosts_of(records: Records, shared: LinkDomain | None) -> Hosts:
    """The shared domain and every proved one of the workspace; none in a deployment that follows no links."""
    if shared is None:
        return {}
    own = (claim.domain for claim in await records.every(DomainClaim) if claim.is_verified)
    return {domain.id: domain.host for domain in (shared, *own)}


async def is_link_host(holders: Holders, host: str) -> bool:
    """Whether some workspace has proved a host, in lower case, as its own."""
    return await holders.holder(DomainClaim, verified_key(LinkDomain(host))) is not None
