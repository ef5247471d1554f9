"""How a domain is claimed, proved and let go."""

from typing import Final
from uuid import UUID

from service_core.access.members.sign_in_attempts import consume_attempt
from service_core.access.models import Caller
from service_core.access.ports import RateLimiter
from service_core.changes.change_executor import ChangeExecutor, ChangePlanner
from service_core.changes.envelope import Envelope
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.kernel.errors import Conflict, ServiceUnavailable, Unprocessable
from service_core.kernel.operations import HandlerResponse
from service_core.workspace.links.domains.link_hosts import find_links_on_domain
from service_core.workspace.links.domains.models import LinkDomainClaim, normalize_host
from service_core.workspace.links.domains.ports import DnsUnavailable, TxtRecords
from service_core.workspace.links.models import LinkDomain

MAX_DOMAINS: Final = 50
"""Domains a workspace may have at once."""

MAX_DNS_QUERIES: Final = 60
"""Questions to the DNS a workspace may have asked in 15 minutes."""


def plan_domain_claim(caller: Caller, host: str, shared_domain: LinkDomain | None) -> ChangePlanner:
    """The plan of a new claim.

    Args:
        who: whose domain it shall be.
        host: as somebody typed it.
        shared: the link domain of the deployment.

    Raises:
        Unprocessable: ``invalid_field``, no public host name; ``unknown_domain``, the deployment follows no links.
        Conflict: it is the domain of the deployment, or one too many.
    """

    async def plan(unit: Transaction) -> Change:
        name = normalize_host(host)
        if shared_domain is None:
            raise Unprocessable(
                "This deployment has no link domain",
                "unknown_domain",
                hint="Whoever runs it names one in links.domain of its settings.",
            )
        if name == shared_domain.host:
            raise Conflict(f"{name} is the link domain of the deployment")
        if len(await unit.resources.list_all(LinkDomainClaim)) >= MAX_DOMAINS:
            raise Conflict(f"A workspace has at most {MAX_DOMAINS} domains")
        return Change(
            Action.CREATE, None, LinkDomainClaim(**new_record_fields(caller), name=name), GENERATED_FIELDS
        )

    return plan


async def verify_domain(
    caller: Caller, claim_id: UUID, writes: ChangeExecutor, records: TxtRecords, limiter: RateLimiter | None
) -> HandlerResponse[Envelope]:
    """Look for the proof of a claim in the DNS, and take the domain into use.

    The look-up is over before the write begins, so nobody waits for a name server.

    Args:
        who: whose domain it is.
        claim_id: the claim.
        writes: how it is written.
        records: where its proof is looked for.
        limiter: counts the questions of the workspace; None for whoever runs the deployment.

    Raises:
        NotFound: the workspace has no such claim.
        Unprocessable: ``unknown_domain``, the record is not there.
        Conflict: another workspace has proved it before.
        TooManyRequests: the workspace has asked more than `LOOKS` times in 15 minutes.
        Unavailable503: no name server answered, or questions cannot be counted.
    """
    async with writes.transactions.read(caller.workspace.id) as unit:
        found = await get_or_404(unit.resources, LinkDomainClaim, claim_id)
    if not found.is_record_present:
        if limiter is not None:
            await consume_attempt(limiter, f"domain-proof:{caller.workspace.id}", MAX_DNS_QUERIES)
        await _require_txt_record(found, records)
    return await writes.execute(caller, _plan_mark_verified(caller, claim_id), dry_run=False)


async def _require_txt_record(found: LinkDomainClaim, records: TxtRecords) -> None:
    try:
        texts = await records.query_txt(found.txt_record_name)
    except DnsUnavailable:
        raise ServiceUnavailable("The DNS does not answer just now", hint="Try again in a minute.") from None
    if found.verification_value not in texts:
        raise Unprocessable(
            f"{found.txt_record_name} has no TXT record with the proof",
            "unknown_domain",
            hint="A new record can take some minutes until everybody sees it.",
        )


def _plan_mark_verified(caller: Caller, claim_id: UUID) -> ChangePlanner:
    async def plan(unit: Transaction) -> Change:
        found = await get_or_404(unit.resources, LinkDomainClaim, claim_id)
        return Change(Action.UPDATE, found, found.mark_verified(caller.now))

    return plan


def plan_domain_removal(claim_id: UUID) -> ChangePlanner:
    """The plan that lets a domain go.

    Raises:
        NotFound: the workspace has no such claim.
        Conflict: links still stand on it.
    """

    async def plan(unit: Transaction) -> Change:
        found = await get_or_404(unit.resources, LinkDomainClaim, claim_id)
        if links := await find_links_on_domain(unit.resources, found):
            stands = "1 link stands" if len(links) == 1 else f"{len(links)} links stand"
            raise Conflict(f"{stands} on {found.name}", hint="Delete them first: their addresses would end.")
        return Change(Action.DELETE, found, None)

    return plan
