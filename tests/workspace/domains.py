"""Domains of a workspace, as its settings page makes them."""

from uuid import UUID

from service_core.access.reader import reader_of
from service_core.changes.plan import born
from service_core.changes.write import Writes
from service_core.testing.dns import WrittenRecords
from service_core.workspace.links.domains.model import DomainClaim
from service_core.workspace.links.domains.plan import claim, prove, removal
from service_core.workspace.links.resource import domain_of


class Registrar:
    """Somebody of a workspace who cares for its domains, and the DNS as far as it goes.

    Args:
        office: the deployment.
        key: whose workspace.
        dns: what everybody sees; share one for several people.

    Attributes:
        limiter: counts their questions; None counts by the deployment's own.
    """

    limiter = None

    def __init__(self, office, key="shop", dns=None):
        self.office, self.key, self.dns = office, key, dns or WrittenRecords()

    @property
    def who(self):
        return reader_of(self.office.workspaces[self.key], self.office.now, "Ann")

    @property
    def writes(self):
        return self.office.service.part(Writes)

    async def claim(self, host):
        self.office.later(seconds=1)
        plan = claim(self.who, host, domain_of(self.office.service.settings))
        made = (await self.writes.run(self.who, plan, dry_run=False)).answer
        return await self.found(UUID(made.data["id"]))

    def publish(self, claimed):
        """Write the proof into the DNS."""
        self.dns.book[claimed.record] = [*self.dns.book.get(claimed.record, ()), claimed.proof]

    async def prove(self, claimed):
        self.office.later(seconds=1)
        limiter = self.limiter or self.office.service.ports.limits
        return (await prove(self.who, claimed.id, self.writes, self.dns, limiter)).answer

    async def own(self, host):
        """A claimed and proved domain; its id as links name it."""
        claimed = await self.claim(host)
        self.publish(claimed)
        await self.prove(claimed)
        return str(claimed.domain.id)

    async def remove(self, host):
        self.office.later(seconds=1)
        [claimed] = [each for each in await self.claims() if each.name == host]
        return (await self.writes.run(self.who, removal(claimed.id), dry_run=False)).answer

    async def claims(self):
        async with self.writes.units.look(self.who.workspace.id) as unit:
            return await unit.resources.every(DomainClaim)

    async def found(self, claim_id):
        return next(each for each in await self.claims() if each.id == claim_id)

    def claimed(self, host):
        """A claim that nobody kept."""
        return DomainClaim(**born(self.who), name=host)
