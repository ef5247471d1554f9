"""`/links` (contract 5.2)."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, requested_dry_run
from service_core.changes.record_plans import plan_delete
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.settings import Settings
from service_core.workspace.links.domains.resource import load_link_hosts
from service_core.workspace.links.models import TrackingLink
from service_core.workspace.links.plan import create, update
from service_core.workspace.links.ports import ClickStore
from service_core.workspace.links.resource import NO_CLICKS, host_under, shared_link_domain, shown
from service_core.workspace.links.schemas import CreateLink, UpdateLink


class LinkAnswer(TrackingLink):
    """A trackable link."""

    kind: Literal["redirect", "direct"]
    url: str | None = Field(description="What to publish; null when the domain is not set up any more.")
    clicks: int | None = Field(
        description="Clicks of people; null for a direct link, which nobody sees clicked."
    )
    unique_clicks: int | None = Field(
        description="The first of each visitor and hour; null for a direct link."
    )


class LinkList(ResponseModel):
    """Every link, newest first."""

    links: list[LinkAnswer]


class LinkPath(BaseModel):
    """Which link."""

    linkId: UUID  # noqa: N815 - as in the path


@operation("GET /links", tag="links")
async def list_links(
    *, caller: Caller, writes: ChangeExecutor, clicks: ClickStore, settings: Settings
) -> LinkList:
    """Every trackable link with its clicks, newest first."""
    counts = await clicks.count_clicks(caller.workspace.id)
    async with writes.transactions.read(caller.workspace.id) as unit:
        links = await unit.resources.list_all(TrackingLink)
        hosts = await load_link_hosts(unit.resources, shared_link_domain(settings))
    told = (shown(link.state, host_under(link, hosts), counts.get(link.id, NO_CLICKS)) for link in links)
    return LinkList(links=[LinkAnswer.model_validate(one) for one in told])


@operation(
    "POST /links",
    scope=Scope.WRITE_LINKS,
    rate_limit=RateLimitClass.MUTATION,
    tag="links",
    errors=(409, 422),
    idempotent=True,
)
async def create_link(
    body: CreateLink, *, caller: Caller, writes: ChangeExecutor, settings: Settings
) -> HandlerResponse[Envelope]:
    """Make a trackable link.

    With a domain or a slug it redirects from there, without a domain from the shared one; otherwise its
    `url` is the destination with the tag and the UTM values appended.
    """
    return await writes.execute(
        caller, create(caller, body.link, shared_link_domain(settings)), dry_run=body.dry_run
    )


@operation(
    "PATCH /links/{linkId}",
    scope=Scope.WRITE_LINKS,
    rate_limit=RateLimitClass.MUTATION,
    tag="links",
    errors=(409, 422),
)
async def update_link(
    path: LinkPath, body: UpdateLink, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Change the fields sent; the redirect follows in the same call."""
    return await writes.execute(caller, update(caller, path.linkId, body.link), dry_run=body.dry_run)


@operation(
    "DELETE /links/{linkId}",
    scope=Scope.WRITE_LINKS,
    rate_limit=RateLimitClass.MUTATION,
    tag="links",
    errors=(409,),
    body_optional=True,
)
async def delete_link(
    path: LinkPath, query: DryRunQuery, body: DryRunBody, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Delete a link: its redirect stops at once, recorded clicks stay, an undo brings it back."""
    return await writes.execute(
        caller, plan_delete(TrackingLink, path.linkId), dry_run=requested_dry_run(query, body)
    )


OPERATIONS = (list_links, create_link, update_link, delete_link)
