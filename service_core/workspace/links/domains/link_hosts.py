"""The hosts that links of a workspace can redirect from."""

from collections.abc import Mapping
from uuid import UUID

from service_core.changes.ports import UniqueKeyLookup
from service_core.changes.resource import RecordReader
from service_core.kernel.errors import Unprocessable
from service_core.workspace.links.domains.models import LinkDomainClaim, verified_domain_key
from service_core.workspace.links.models import LinkDomain, TrackingLink

LinkHosts = Mapping[UUID, str]
"""Id of a link domain -> its host: all that the links of a workspace may stand on."""


async def load_link_hosts(records: RecordReader, shared: LinkDomain | None) -> LinkHosts:
    """The shared domain and every proved one of the workspace; none in a deployment that follows no links."""
    if shared is None:
        return {}
    own = (claim.link_domain for claim in await records.list_all(LinkDomainClaim) if claim.is_verified)
    return {domain.id: domain.host for domain in (shared, *own)}


async def find_links_on_domain(records: RecordReader, claim: LinkDomainClaim) -> list[TrackingLink]:
    """The links that stand on a domain."""
    return await records.list_all(TrackingLink, field_filters={"domain_id": str(claim.link_domain.id)})


async def require_active_domain(records: RecordReader, domain_id: UUID) -> None:
    """Refuse a new link on a domain whose proof has been gone for too long.

    Raises:
        Unprocessable: ``unknown_domain``.
    """
    for claim in await records.list_all(LinkDomainClaim):
        if claim.link_domain.id == domain_id and claim.lapsed_at is not None:
            raise Unprocessable(
                f"The proof of {claim.name} is gone from the DNS",
                "unknown_domain",
                field="link.domain_id",
                hint="Publish its TXT record again and verify it, or name another domain.",
            )


async def is_verified_link_host(holders: UniqueKeyLookup, host: str) -> bool:
    """Whether some workspace has proved a host, in lower case, as its own."""
    return (
        await holders.find_by_unique_key(LinkDomainClaim, verified_domain_key(LinkDomain(host))) is not None
    )
