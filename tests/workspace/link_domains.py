"""Domains of a workspace, as its settings page makes them."""

from uuid import UUID

from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.record_plans import new_record_fields
from service_core.testing.txt_records import FakeTxtRecords
from service_core.workspace.links.domains.models import LinkDomainClaim
from service_core.workspace.links.domains.verification import (
    plan_domain_claim,
    plan_removal_of_unused_domain,
    verify_domain,
)
from service_core.workspace.links.models import shared_link_domain


class DomainOwner:
    """Somebody of a workspace who cares for its domains, and the DNS as far as it goes.

    Args:
        office: the deployment.
        key: whose workspace.
        dns: what everybody sees; share one for several people.

    Attributes:
        limiter: counts their questions; None counts by the deployment's own.
    """

    limiter = None

    def __init__(self, workspace_api, key="shop", dns=None):
        self.office, self.key, self.dns = workspace_api, key, dns or FakeTxtRecords()

    @property
    def caller(self):
        return build_unlimited_read_only_caller(self.office.workspaces[self.key], self.office.now, "Ann")

    @property
    def writes(self):
        return self.office.service.component(ChangeExecutor)

    async def claim(self, host):
        self.office.later(seconds=1)
        plan = plan_domain_claim(self.caller, host, shared_link_domain(self.office.service.settings))
        made = (await self.writes.preview_or_apply_change(self.caller, plan, dry_run=False)).body
        return await self.found(UUID(made.data["id"]))

    def publish(self, claimed):
        """Write the proof into the DNS."""
        self.dns.zone_records[claimed.txt_record_name] = [
            *self.dns.zone_records.get(claimed.txt_record_name, ()),
            claimed.verification_value,
        ]

    async def prove(self, claimed):
        self.office.later(seconds=1)
        limiter = self.limiter or self.office.service.ports.limits
        return (await verify_domain(self.caller, claimed.id, self.writes, self.dns, limiter)).body

    async def own(self, host):
        """A claimed and proved domain; its id as links name it."""
        claimed = await self.claim(host)
        self.publish(claimed)
        await self.prove(claimed)
        return str(claimed.link_domain.id)

    async def remove(self, host):
        self.office.later(seconds=1)
        [claimed] = [each for each in await self.claims() if each.name == host]
        return (
            await self.writes.preview_or_apply_change(
                self.caller, plan_removal_of_unused_domain(claimed.id), dry_run=False
            )
        ).body

    async def claims(self):
        async with self.writes.transactions.read(self.caller.workspace.id) as transaction:
            return await transaction.resources.list_all(LinkDomainClaim)

    async def found(self, claim_id):
        return next(each for each in await self.claims() if each.id == claim_id)

    def claimed(self, host):
        """A claim that nobody kept."""
        return LinkDomainClaim(**new_record_fields(self.caller), name=host)
