"""`/links` (contract 5.2)."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.model import Caller
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, dry_run_of
from service_core.changes.plan import deletion
from service_core.changes.write import Writes
from service_core.kernel.operations import Budget, Reply, Scope, operation
from service_core.kernel.params import Answer
from service_core.kernel.settings import Settings
from service_core.workspace.links.bodies import CreateLink, UpdateLink
from service_core.workspace.links.domains.resource import hosts_of
from service_core.workspace.links.model import Link
from service_core.workspace.links.plan import create, update
from service_core.workspace.links.ports import Clicks
from service_core.workspace.links.resource import NEVER_CLICKED, domain_of, host_under, shown


class LinkAnswer(Link):
    """A trackable link."""

    kind: Literal["redirect", "direct"]
    url: str | None = Field(description="What to publish; null when the domain is not set up any more.")
    clicks: int | None = Field(
        description="Clicks of people; null for a direct link, which nobody sees clicked."
    )
    unique_clicks: int | None = Field(
        description="The first of each visitor and hour; null for a direct link."
    )


class LinkList(Answer):
    """Every link, newest first."""

    links: list[LinkAnswer]


class LinkPath(BaseModel):
    """Which link."""

    linkId: UUID  # noqa: N815 - as in the path


@operation("GET /links", tag="links")
async def list_links(*, who: Caller, writes: Writes, clicks: Clicks, settings: Settings) -> LinkList:
    """Every trackable link with its clicks, newest first."""
    counts = await clicks.click_counts(who.workspace.id)
    async with writes.units.look(who.workspace.id) as unit:
        links = await unit.resources.every(Link)
        hosts = await hosts_of(unit.resources, domain_of(settings))
    told = (shown(link.state, host_under(link, hosts), counts.get(link.id, NEVER_CLICKED)) for link in links)
    return LinkList(links=[LinkAnswer.model_validate(one) for one in told])


@operation(
    "POST /links",
    scope=Scope.WRITE_LINKS,
    budget=Budget.MUTATION,
    tag="links",
    errors=(409, 422),
    replays=True,
)
async def create_link(
    body: CreateLink, *, who: Caller, writes: Writes, settings: Settings
) -> Reply[Envelope]:
    """Make a trackable link.

    With a domain or a slug it redirects from there, without a domain from the shared one; otherwise its
    `url` is the destination with the tag and the UTM values appended.
    """
    return await writes.run(who, create(who, body.link, domain_of(settings)), dry_run=body.dry_run)


@operation(
    "PATCH /links/{linkId}",
    scope=Scope.WRITE_LINKS,
    budget=Budget.MUTATION,
    tag="links",
    errors=(409, 422),
)
async def update_link(path: LinkPath, body: UpdateLink, *, who: Caller, writes: Writes) -> Reply[Envelope]:
    """Change the fields sent; the redirect follows in the same call."""
    return await writes.run(who, update(who, path.linkId, body.link), dry_run=body.dry_run)


@operation(
    "DELETE /links/{linkId}",
    scope=Scope.WRITE_LINKS,
    budget=Budget.MUTATION,
    tag="links",
    errors=(409,),
    body_optional=True,
)
async def delete_link(
    path: LinkPath, query: DryRunQuery, body: DryRunBody, *, who: Caller, writes: Writes
) -> Reply[Envelope]:
    """Delete a link: its redirect stops at once, recorded clicks stay, an undo brings it back."""
    return await writes.run(who, deletion(Link, path.linkId), dry_run=dry_run_of(query, body))


OPERATIONS = (list_links, create_link, update_link, delete_link)
