"""How a domain is claimed, proved and let go."""

from typing import Final
from uuid import UUID

from service_core.access.members.attempts import count_attempt
from service_core.access.model import Caller
from service_core.access.ports import RateLimiter
from service_core.changes.envelope import Envelope
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born, live
from service_core.changes.ports import Transaction
from service_core.changes.write import Plan, Writes
from service_core.kernel.errors import Conflict, Unavailable503, Unprocessable
from service_core.kernel.operations import Reply
from service_core.workspace.links.domains.model import DomainClaim, host_of
from service_core.workspace.links.domains.ports import RecordsDown, TextRecords
from service_core.workspace.links.domains.resource import links_on
from service_core.workspace.links.model import LinkDomain

MOST: Final = 50
"""Domains a workspace may have at once."""

LOOKS: Final = 60
"""Questions to the DNS a workspace may have asked in 15 minutes."""


def claim(who: Caller, host: str, shared: LinkDomain | None) -> Plan:
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
        name = host_of(host)
        if shared is None:
            raise Unprocessable(
                "This deployment has no link domain",
                "unknown_domain",
                hint="Whoever runs it names one in links.domain of its settings.",
            )
        if name == shared.host:
            raise Conflict(f"{name} is the link domain of the deployment")
        if len(await unit.resources.every(DomainClaim)) >= MOST:
            raise Conflict(f"A workspace has at most {MOST} domains")
        return Change(Action.CREATE, None, DomainClaim(**born(who), name=name), ASSIGNED)

    return plan


async def prove(
    who: Caller, claim_id: UUID, writes: Writes, records: TextRecords, limiter: RateLimiter | None
) -> Reply[Envelope]:
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
        TooMany: the workspace has asked more than `LOOKS` times in 15 minutes.
        Unavailable503: no name server answered, or questions cannot be counted.
    """
    async with writes.units.look(who.workspace.id) as unit:
        found = await live(unit.resources, DomainClaim, claim_id)
    if not found.is_proved:
        if limiter is not None:
            await count_attempt(limiter, f"domain-proof:{who.workspace.id}", LOOKS)
        await _look(found, records)
    return await writes.run(who, _proved(who, claim_id), dry_run=False)


async def _look(found: DomainClaim, records: TextRecords) -> None:
    try:
        texts = await records.texts(found.record)
    except RecordsDown:
        raise Unavailable503("The DNS does not answer just now", hint="Try again in a minute.") from None
    if found.proof not in texts:
        raise Unprocessable(
            f"{found.record} has no TXT record with the proof",
            "unknown_domain",
            hint="A new record can take some minutes until everybody sees it.",
        )


def _proved(who: Caller, claim_id: UUID) -> Plan:
    async def plan(unit: Transaction) -> Change:
        found = await live(unit.resources, DomainClaim, claim_id)
        return Change(Action.UPDATE, found, found.proved(who.now))

    return plan


def removal(claim_id: UUID) -> Plan:
    """The plan that lets a domain go.

    Raises:
        NotFound: the workspace has no such claim.
        Conflict: links still stand on it.
    """

    async def plan(unit: Transaction) -> Change:
        found = await live(unit.resources, DomainClaim, claim_id)
        if links := await links_on(unit.resources, found):
            stands = "1 link stands" if len(links) == 1 else f"{len(links)} links stand"
            raise Conflict(f"{stands} on {found.name}", hint="Delete them first: their addresses would end.")
        return Change(Action.DELETE, found, None)

    return plan
