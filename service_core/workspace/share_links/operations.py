"""`/share-links` (contract 5.8)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.model import Caller, Via
from service_core.changes.actor import Actor
from service_core.changes.envelope import Envelope
from service_core.changes.listing import page_of
from service_core.changes.operations import DryRunBody, DryRunQuery, dry_run_of
from service_core.changes.resource import State
from service_core.changes.write import Writes
from service_core.kernel.ids import new_token
from service_core.kernel.instants import wire
from service_core.kernel.operations import Budget, Reply, Scope, operation
from service_core.kernel.params import Answer
from service_core.kernel.settings import Settings
from service_core.workspace.share_links.bodies import CreateShareLink, ShareLinkQuery
from service_core.workspace.share_links.model import ObjectType, ShareLink, Status
from service_core.workspace.share_links.plan import create, revoke
from service_core.workspace.share_links.ports import ShareViews, Views
from service_core.workspace.share_links.resource import shown


class ShareLinkAnswer(Answer):
    """A share link; its address was told once, to whoever made it."""

    id: UUID
    workspace_id: UUID
    object_type: ObjectType
    object_id: UUID
    object_name: str = Field(description="The object's name when it was shared.")
    status: Status
    show_workspace_name: bool
    view_count: int
    created_via: Via
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_viewed_at: datetime | None
    token_hint: str = Field(description="The last four characters of the token in its address.")
    created_by: Actor


class ShareLinkList(Answer):
    """Share links, newest first."""

    share_links: list[ShareLinkAnswer]
    next_cursor: str | None


class ShareLinkPath(BaseModel):
    """Which link."""

    shareLinkId: UUID  # noqa: N815 - as in the path


@operation("GET /share-links", tag="share-links")
async def list_share_links(
    query: ShareLinkQuery, *, who: Caller, writes: Writes, pages: ShareViews
) -> ShareLinkList:
    """Share links with their views, newest first. No answer repeats an address."""
    async with writes.units.look(who.workspace.id) as unit:
        page, following = await page_of(
            unit.resources,
            ShareLink,
            query,
            who,
            matching=_stored(query),
            fits=lambda link: query.status in (None, link.at(who.now).status),
        )
    views = await pages.views(who.workspace.id, [link.id for link in page])
    told = ({**shown(link.at(who.now).state), **_viewed(views.get(link.id))} for link in page)
    return ShareLinkList(
        share_links=[ShareLinkAnswer.model_validate(one) for one in told], next_cursor=following
    )


@operation(
    "POST /share-links",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="share-links",
    errors=(422,),
)
async def create_share_link(
    body: CreateShareLink, *, who: Caller, writes: Writes, settings: Settings
) -> Reply[Envelope]:
    """Publish one report, dashboard or analysis on a page that needs no login.

    `data.url` is told in this answer and never again. `Idempotency-Key` is ignored: when the answer
    is lost, revoke the link and make another one.
    """
    token = new_token()
    reply = await writes.run(who, create(who, body.share_link, token), dry_run=body.dry_run)
    url = f"{settings.http.web_url}/share/{token}" if reply.answer.applied else None
    return _with(reply, {**_viewed(None), "url": url})


@operation(
    "DELETE /share-links/{shareLinkId}",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="share-links",
    body_optional=True,
)
async def revoke_share_link(
    path: ShareLinkPath,
    query: DryRunQuery,
    body: DryRunBody,
    *,
    who: Caller,
    writes: Writes,
    pages: ShareViews,
) -> Reply[Envelope]:
    """Revoke a link, for good: its page answers 410 from the next request on."""
    reply = await writes.run(who, revoke(who, path.shareLinkId), dry_run=dry_run_of(query, body))
    views = await pages.views(who.workspace.id, [path.shareLinkId])
    return _with(reply, _viewed(views.get(path.shareLinkId)))


def _stored(query: ShareLinkQuery) -> Mapping[str, str]:
    """The filters as the records hold them; that a link has expired is not stored."""
    active = None if query.status is None else Status.ACTIVE
    asked = {
        "object_type": query.object_type,
        "object_id": query.object_id,
        "status": Status.REVOKED if query.status is Status.REVOKED else active,
    }
    return {name: str(value) for name, value in asked.items() if value is not None}


def _viewed(views: Views | None) -> State:
    if views is None:
        return {"view_count": 0, "last_viewed_at": None}
    return {"view_count": views.count, "last_viewed_at": wire(views.last_at)}


def _with(reply: Reply[Envelope], told: Mapping[str, Any]) -> Reply[Envelope]:
    """The answer with what the record itself does not hold."""
    answer = reply.answer
    data = {**(answer.data or {}), **told}
    return Reply(answer.model_copy(update={"data": data}), reply.status, reply.headers)


OPERATIONS = (list_share_links, create_share_link, revoke_share_link)
"""How links are listed, made and revoked."""
