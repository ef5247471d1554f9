"""The hosts that links of a workspace can redirect from."""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from service_core.changes.ports import UniqueKeyLookup
from service_core.changes.resource import RecordReader
from service_core.kernel.errors import Unprocessable
from service_core.kernel.settings import Settings
from service_core.workspace.links.domains.models import LinkDomainClaim, verified_domain_key
from service_core.workspace.links.models import (
    PATH_LINK_DOMAIN,
    PATH_LINK_PREFIX,
    LinkDomain,
    TrackingLink,
    shared_link_domain,
)


class LinkHost(NamedTuple):
    """Where the links of a domain redirect from.

    Attributes:
        host: the host in the keys of redirects, ``<host>/<slug>``.
        base_url: the URL before ``/<slug>``.
    """

    host: str
    base_url: str


LinkHosts = Mapping[UUID, LinkHost]
"""Id of a link domain -> its host, for all domains that links of a workspace use."""


async def load_link_hosts(records: RecordReader, settings: Settings) -> LinkHosts:
    """Returns the shared domain, the verified ones of the workspace, and that of links made without a domain.

    The last one is the path of the ingest host in a deployment without a shared domain, and the shared domain later.
    """
    shared_domain = shared_link_domain(settings)
    if shared_domain is None:
        path_url = settings.http.effective_ingest_url + PATH_LINK_PREFIX.rstrip("/")
        return {PATH_LINK_DOMAIN.id: LinkHost(PATH_LINK_DOMAIN.host, path_url)}
    own = (claim.link_domain for claim in await records.list_all(LinkDomainClaim) if claim.is_verified)
    hosts = {domain.id: LinkHost(domain.host, f"https://{domain.host}") for domain in (shared_domain, *own)}
    return {**hosts, PATH_LINK_DOMAIN.id: LinkHost(PATH_LINK_DOMAIN.host, f"https://{shared_domain.host}")}


async def find_links_on_domain(records: RecordReader, claim: LinkDomainClaim) -> list[TrackingLink]:
    """Returns the links that use a domain."""
    return await records.list_all(TrackingLink, field_filters={"domain_id": str(claim.link_domain.id)})


async def refuse_lapsed_domain(records: RecordReader, domain_id: UUID) -> None:
    """Refuses a new link on a domain whose DNS record has been missing for too long.

    Raises:
        Unprocessable: ``unknown_domain``.
    """
    for claim in await records.list_all(LinkDomainClaim):
        if claim.link_domain.id == domain_id and claim.lapsed_at is not None:
            raise Unprocessable(
                f"The DNS record of {claim.name} is missing",
                "unknown_domain",
                field="link.domain_id",
                hint="Publish its TXT record again and verify it, or name another domain.",
            )


async def is_verified_link_host(unique_keys: UniqueKeyLookup, host: str) -> bool:
    """Returns whether a workspace has verified a host, which is in lower case."""
    return (
        await unique_keys.find_live_by_unique_key(LinkDomainClaim, verified_domain_key(LinkDomain(host)))
        is not None
    )
