"""Claims, verifies and removes link domains."""

from typing import Final
from uuid import UUID

from service_core.access.members.sign_in_attempts import count_attempt_per_15_minutes_or_raise
from service_core.access.models import Caller
from service_core.access.ports import RateLimiter
from service_core.changes.change_executor import ChangeExecutor, ChangePlanner
from service_core.changes.envelope import Envelope
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields, plan_update
from service_core.changes.resource import RecordReader
from service_core.kernel.errors import Conflict, ServiceUnavailable, Unprocessable
from service_core.kernel.operations import HandlerResponse
from service_core.workspace.links.domains.link_hosts import find_links_on_domain
from service_core.workspace.links.domains.models import LinkDomainClaim, normalize_public_host
from service_core.workspace.links.domains.ports import DnsUnavailable, TxtRecords
from service_core.workspace.links.models import LinkDomain

MAX_DOMAINS: Final = 50
"""Link domains per workspace."""

MAX_DNS_QUERIES: Final = 60
"""DNS queries per workspace in 15 minutes."""


def plan_domain_claim(caller: Caller, host: str, shared_domain: LinkDomain | None) -> ChangePlanner:
    """Returns the plan of a new claim.

    Args:
        caller: member of the workspace that claims the domain.
        host: user input.
        shared_domain: the link domain of the deployment; None when it has none.

    Raises:
        Unprocessable: ``invalid_field``, no public host name; ``unknown_domain``, the deployment has no link domain.
        Conflict: it is the domain of the deployment, or the workspace has `MAX_DOMAINS` already.
    """

    async def claim_public_host(transaction: Transaction) -> Change:
        name = normalize_public_host(host)
        if shared_domain is None:
            raise Unprocessable(
                "This deployment has no link domain",
                "unknown_domain",
                hint="The operator names one in links.domain of its settings.",
            )
        if name == shared_domain.host:
            raise Conflict(f"{name} is the link domain of the deployment")
        if len(await transaction.resources.list_all(LinkDomainClaim)) >= MAX_DOMAINS:
            raise Conflict(f"A workspace has at most {MAX_DOMAINS} domains")
        claim = LinkDomainClaim(**new_record_fields(caller), name=name)
        return Change(Action.CREATE, None, claim, GENERATED_FIELDS)

    return claim_public_host


async def verify_domain(
    caller: Caller,
    claim_id: UUID,
    changes: ChangeExecutor,
    txt_records: TxtRecords,
    limiter: RateLimiter | None,
) -> HandlerResponse[Envelope]:
    """Queries the DNS record of a claim and marks the claim as verified.

    The query ends before the transaction begins, so no transaction waits for a name server.

    Args:
        caller: member of the workspace of the claim.
        claim_id: the claim.
        changes: executes the change.
        txt_records: queries the DNS.
        limiter: limits the queries of the workspace; None for no limit.

    Raises:
        NotFound: the workspace has no such claim.
        Unprocessable: ``unknown_domain``, the record is not there.
        Conflict: another workspace has verified the host.
        TooManyRequests: the workspace has made `MAX_DNS_QUERIES` queries in 15 minutes.
        ServiceUnavailable: no name server answered, or queries cannot be counted.
    """
    async with changes.transactions.read(caller.workspace.id) as transaction:
        claim = await get_or_404(transaction.resources, LinkDomainClaim, claim_id)
    if not claim.is_record_present:
        if limiter is not None:
            await count_attempt_per_15_minutes_or_raise(
                limiter, f"domain-proof:{caller.workspace.id}", MAX_DNS_QUERIES
            )
        await _require_txt_record(claim, txt_records)

    async def mark_claim_verified(claim: LinkDomainClaim, _: RecordReader) -> LinkDomainClaim:
        return claim.mark_verified(caller.now)

    plan = plan_update(LinkDomainClaim, claim_id, mark_claim_verified)
    return await changes.preview_or_apply_change(caller, plan, dry_run=False)


async def _require_txt_record(claim: LinkDomainClaim, records: TxtRecords) -> None:
    try:
        values = await records.query_txt(claim.txt_record_name)
    except DnsUnavailable:
        raise ServiceUnavailable("The DNS does not answer", hint="Try again in a minute.") from None
    if claim.verification_value not in values:
        raise Unprocessable(
            f"{claim.txt_record_name} has no TXT record with the verification value",
            "unknown_domain",
            hint="It can take some minutes until a new record is visible everywhere.",
        )


def plan_removal_of_unused_domain(claim_id: UUID) -> ChangePlanner:
    """Returns the plan that removes a domain.

    Raises:
        NotFound: the workspace has no such claim.
        Conflict: links use the domain.
    """

    async def delete_unless_links_use_it(transaction: Transaction) -> Change:
        claim = await get_or_404(transaction.resources, LinkDomainClaim, claim_id)
        if links := await find_links_on_domain(transaction.resources, claim):
            users = "1 link uses" if len(links) == 1 else f"{len(links)} links use"
            raise Conflict(f"{users} {claim.name}", hint="Delete them first: their URLs would end.")
        return Change(Action.DELETE, claim, None)

    return delete_unless_links_use_it
