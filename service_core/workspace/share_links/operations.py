"""`/share-links` (contract 5.8)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller, RequestInterface
from service_core.changes.actor import Actor
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, requested_dry_run
from service_core.changes.pagination import paginate_records
from service_core.changes.resource import State
from service_core.kernel.ids import new_token
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.settings import Settings
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace.share_links.models import ObjectType, ShareLink, ShareLinkStatus
from service_core.workspace.share_links.plan import create, revoke
from service_core.workspace.share_links.ports import ShareLinkViews, ViewCount
from service_core.workspace.share_links.resource import shown
from service_core.workspace.share_links.schemas import CreateShareLink, ShareLinkQuery


class ShareLinkAnswer(ResponseModel):
    """A share link; its address was told once, to whoever made it."""

    id: UUID
    workspace_id: UUID
    object_type: ObjectType
    object_id: UUID
    object_name: str = Field(description="The object's name when it was shared.")
    status: ShareLinkStatus
    show_workspace_name: bool
    view_count: int
    created_via: RequestInterface
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_viewed_at: datetime | None
    token_hint: str = Field(description="The last four characters of the token in its address.")
    created_by: Actor


class ShareLinkList(ResponseModel):
    """Share links, newest first."""

    share_links: list[ShareLinkAnswer]
    next_cursor: str | None


class ShareLinkPath(BaseModel):
    """Which link."""

    shareLinkId: UUID  # noqa: N815 - as in the path


@operation("GET /share-links", tag="share-links")
async def list_share_links(
    query: ShareLinkQuery, *, caller: Caller, writes: ChangeExecutor, pages: ShareLinkViews
) -> ShareLinkList:
    """Share links with their views, newest first. No answer repeats an address."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        page, following = await paginate_records(
            unit.resources,
            ShareLink,
            query,
            caller,
            field_filters=_stored(query),
            predicate=lambda link: query.status in (None, link.with_status_at(caller.now).status),
        )
    views = await pages.get_view_counts(caller.workspace.id, [link.id for link in page])
    told = ({**shown(link.with_status_at(caller.now).state), **_viewed(views.get(link.id))} for link in page)
    return ShareLinkList(
        share_links=[ShareLinkAnswer.model_validate(one) for one in told], next_cursor=following
    )


@operation(
    "POST /share-links",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="share-links",
    errors=(422,),
)
async def create_share_link(
    body: CreateShareLink, *, caller: Caller, writes: ChangeExecutor, settings: Settings
) -> HandlerResponse[Envelope]:
    """Publish one report, dashboard or analysis on a page that needs no login.

    `data.url` is told in this answer and never again. `Idempotency-Key` is ignored: when the answer
    is lost, revoke the link and make another one.
    """
    token = new_token()
    reply = await writes.execute(caller, create(caller, body.share_link, token), dry_run=body.dry_run)
    url = f"{settings.http.effective_app_url}/share/{token}" if reply.body.applied else None
    return _with(reply, {**_viewed(None), "url": url})


@operation(
    "DELETE /share-links/{shareLinkId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="share-links",
    body_optional=True,
)
async def revoke_share_link(
    path: ShareLinkPath,
    query: DryRunQuery,
    body: DryRunBody,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    pages: ShareLinkViews,
) -> HandlerResponse[Envelope]:
    """Revoke a link, for good: its page answers 410 from the next request on."""
    reply = await writes.execute(
        caller, revoke(caller, path.shareLinkId), dry_run=requested_dry_run(query, body)
    )
    views = await pages.get_view_counts(caller.workspace.id, [path.shareLinkId])
    return _with(reply, _viewed(views.get(path.shareLinkId)))


def _stored(query: ShareLinkQuery) -> Mapping[str, str]:
    """The filters as the records hold them; that a link has expired is not stored."""
    active = None if query.status is None else ShareLinkStatus.ACTIVE
    asked = {
        "object_type": query.object_type,
        "object_id": query.object_id,
        "status": ShareLinkStatus.REVOKED if query.status is ShareLinkStatus.REVOKED else active,
    }
    return {name: str(value) for name, value in asked.items() if value is not None}


def _viewed(views: ViewCount | None) -> State:
    if views is None:
        return {"view_count": 0, "last_viewed_at": None}
    return {"view_count": views.count, "last_viewed_at": format_timestamp(views.last_viewed_at)}


def _with(reply: HandlerResponse[Envelope], told: Mapping[str, Any]) -> HandlerResponse[Envelope]:
    """The answer with what the record itself does not hold."""
    answer = reply.body
    data = {**(answer.data or {}), **told}
    return HandlerResponse(answer.model_copy(update={"data": data}), reply.status, reply.headers)


OPERATIONS = (list_share_links, create_share_link, revoke_share_link)
"""How links are listed, made and revoked."""
