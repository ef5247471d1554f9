"""Share links as a writable resource."""

from collections.abc import Sequence
from typing import Any, Final

from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.resource import RecordReader, ResourceType, Serializer, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Conflict
from service_core.kernel.operations import Scope
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace.share_links.models import ShareLink, ShareLinkStatus
from service_core.workspace.share_links.operations import (
    create_share_link,
    revoke_share_link,
    revoked_share_link,
)
from service_core.workspace.share_links.page_options import validate_allowed_ranges, validate_embed_hosts
from service_core.workspace.share_links.ports import ShareLinkViews
from service_core.workspace.share_links.schemas import ShareLinkAnswer, ShareLinkPatch, ShareLinkQuery


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
    is_open = state["status"] == ShareLinkStatus.ACTIVE
    shared = f"{state['object_type']} '{state['object_name']}'"
    readers = (
        "whoever has the address and the password" if state["has_password"] else "whoever has the address"
    )
    summary = (
        f"{shared} can be read by {readers}"
        if is_new
        else f"the public page of {shared} {'changes' if is_open else 'answers 410 from now on'}"
    )
    effect = {
        "type": "public_page",
        "summary": summary,
        "operation": "put" if is_open else "delete",
        "path": f"/share/…{state['token_hint'] or ''}",
    }
    return (effect,)


async def update_share_link(link: ShareLink, patch: ShareLinkPatch, write: WriteContext[None]) -> ShareLink:
    """Change the fields sent of an active link; its address and its password stay."""
    if link.as_of(write.caller.now).status is not ShareLinkStatus.ACTIVE:
        raise Conflict("This link is revoked or expired", "resource_changed", hint="Make another link.")
    sent = sent_fields(patch)
    fields: dict[str, Any] = {}
    if sent.get("show_workspace_name") is not None:
        fields["show_workspace_name"] = patch.show_workspace_name
    if "allowed_ranges" in sent:
        fields["allowed_ranges"] = validate_allowed_ranges(patch.allowed_ranges or ())
    if "embed_hosts" in sent:
        fields["embed_hosts"] = validate_embed_hosts(patch.embed_hosts or ())
    return link.with_fields(write.caller.now, **fields)


SHARE_LINKS: Final = resource(
    ResourceType(
        ShareLink,
        Scope.WRITE_REPORTS,
        effects=describe_public_page_effect,
        outside_effects=frozenset({"public_page"}),
        retire=revoked_share_link,
        serializer=load_share_link_serializer,
    ),
    "/share-links/{shareLinkId}",
    listing=Listing(
        "Share links with their views, newest first. No answer repeats an address.", query=ShareLinkQuery
    ),
    update=update_share_link,
    answer=ShareLinkAnswer,
    operations=(create_share_link, revoke_share_link),
    are_reads_aggregate=True,
)
