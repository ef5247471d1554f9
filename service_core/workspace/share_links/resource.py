"""Share links as a writable resource."""

from collections.abc import Sequence
from typing import Final

from service_core.changes.resource import RecordReader, ResourceType, Serializer, State
from service_core.changes.resource_definition import Listing, resource
from service_core.kernel.operations import Scope
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace.share_links.models import ShareLink
from service_core.workspace.share_links.operations import create_share_link, revoke_share_link
from service_core.workspace.share_links.ports import ShareLinkViews
from service_core.workspace.share_links.schemas import ShareLinkAnswer, ShareLinkQuery


async def load_share_link_serializer(
    _: RecordReader, links: Sequence[ShareLink], *, views: ShareLinkViews
) -> Serializer:
    """Returns how share links are shown: with the views of their page, without their token's digest."""
    workspace_ids = {link.workspace_id for link in links}
    counts = {
        str(link_id): count
        for workspace_id in workspace_ids
        for link_id, count in (await views.get_view_counts(workspace_id, [link.id for link in links])).items()
    }

    def add_views_without_updated_at(state: State) -> State:
        count = counts.get(state["id"])
        return {
            **{name: value for name, value in state.items() if name != "updated_at"},
            "view_count": count.count if count else 0,
            "last_viewed_at": format_timestamp(count.last_viewed_at) if count else None,
        }

    return add_views_without_updated_at


async def describe_public_page_effect(
    _: RecordReader, prior: State | None, new: State | None
) -> Sequence[State]:
    """Returns what the change does to the public page; its path shows the last characters of the token only."""
    state, is_new = new or prior or {}, prior is None
    shared = f"{state['object_type']} '{state['object_name']}'"
    effect = {
        "type": "public_page",
        "summary": f"{shared} can be read by whoever has the address"
        if is_new
        else f"the public page of {shared} answers 410 from now on",
        "operation": "put" if is_new else "delete",
        "path": f"/share/…{state['token_hint'] or ''}",
    }
    return (effect,)


SHARE_LINKS: Final = resource(
    ResourceType(
        ShareLink,
        Scope.WRITE_REPORTS,
        effects=describe_public_page_effect,
        serializer=load_share_link_serializer,
    ),
    "/share-links/{shareLinkId}",
    listing=Listing(
        "Share links with their views, newest first. No answer repeats an address.", query=ShareLinkQuery
    ),
    answer=ShareLinkAnswer,
    operations=(create_share_link, revoke_share_link),
)
