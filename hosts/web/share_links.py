"""What of a workspace is public, publishing more of it, and taking it back."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from quart import Response, request

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.one_time import (
    ShownSecret,
    delete_secret_cookie,
    is_first_submission,
    read_secret_of_cookie,
    redirect_with_secret,
)
from hosts.web.page_context import Page, PageContext
from hosts.web.public_pages import label_of_preset
from service_core.access.members.models import Member
from service_core.access.models import Caller, Workspace
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.resource import RecordReader
from service_core.changes.schemas import DryRunBody, DryRunQuery
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates
from service_core.kernel.errors import ApiError, BadRequest, Forbidden, NotFound, Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.share_links.models import ObjectType
from service_core.workspace.share_links.operations import (
    ShareLinkPath,
    create_share_link,
    revoke_share_link,
)
from service_core.workspace.share_links.resource import SHARE_LINKS
from service_core.workspace.share_links.schemas import CreateShareLink, NewShareLink, ShareLinkQuery
from service_core.workspace.share_links.shareable_types import SHAREABLE_TYPES, ShareableRecord

MAX_LINKS: Final = 30
MAX_OFFERED: Final = 50
"""Reports, dashboards and analyses the form offers, of each; the others are found by their name."""

EXPIRY_LABELS: Final = {
    "": "Never",
    "7": "7 days",
    "30": "30 days",
    "90": "90 days",
    "365": "1 year",
}
OFFERED_RANGES: Final = (
    "last_7_days",
    "last_30_days",
    "last_90_days",
    "this_month",
    "last_month",
    "this_year",
)
"""Presets that the form offers; the API takes every one."""
TYPE_TITLES: Final[Mapping[ObjectType, str]] = {
    "dashboard": "Dashboards",
    "report": "Reports",
    "analysis": "Analyses",
}


class ShareableObjects(NamedTuple):
    """What can be shared.

    Attributes:
        kinds: titles, each with values of the form and their names.
        text: what was looked for.
        more: there are others.
    """

    kinds: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    text: str
    more: bool


async def show_share_links(context: PageContext, public_id: str) -> Response:
    """Every share link, newest first, and once the address of the link that was just created."""
    workspace, member = await context.require_workspace(public_id)
    shown = read_secret_of_cookie(context)
    page = await _share_links_page(context, workspace, member, shown=shown)
    return page if shown is None else delete_secret_cookie(context, f"/w/{public_id}/shared", page)


async def publish_object_once(context: PageContext, public_id: str) -> Response:
    """Share something unless the form was sent before, and lead to the page that shows the address once."""
    workspace, member = await context.require_workspace(public_id)
    caller, change_executor = (
        _require_sharing_caller(context, workspace, member),
        context.component(ChangeExecutor),
    )
    path = f"/w/{public_id}/shared"
    if not await is_first_submission(context):
        return context.redirect_to(path, done="repeated")
    try:
        body = CreateShareLink(share_link=_read_new_share_link_from_form(context), dry_run=False)
        created = await create_share_link(
            body,
            caller=caller,
            changes=change_executor,
            settings=context.service.settings,
            passwords=context.service.ports.passwords,
        )
    except Unprocessable as refusal:
        return await _share_links_page(context, workspace, member, refusal=refusal)
    link = created.body.data
    return redirect_with_secret(context, path, ShownSecret(link["object_name"], link["url"]))


async def revoke_link(context: PageContext, public_id: str, link_id: str) -> Response:
    """Revoke a link, for good."""
    workspace, member = await context.require_workspace(public_id)
    caller = _require_sharing_caller(context, workspace, member)
    await revoke_share_link(
        ShareLinkPath(shareLinkId=parse_id_or_raise_not_found(link_id)),
        DryRunQuery(),
        DryRunBody(dry_run=False),
        caller=caller,
        changes=context.component(ChangeExecutor),
    )
    return context.redirect_to(f"/w/{public_id}/shared", done="unshared")


def _read_new_share_link_from_form(context: PageContext) -> NewShareLink:
    """What the form asks for.

    Raises:
        NotFound: no such thing stands in the form.
    """
    kind, _, object_id = context.form.text("object").partition(":")
    days = context.form.text("days")
    if kind not in SHAREABLE_TYPES or days not in EXPIRY_LABELS:
        raise NotFound
    return NewShareLink(
        object_type=cast(ObjectType, kind),
        object_id=parse_id_or_raise_not_found(object_id),
        expires_in_days=int(days) if days else None,
        show_workspace_name=bool(context.form.text("named")),
        allowed_ranges=context.form.all("range"),
        embed_hosts=context.form.text("embed").split(),
        password=context.form.raw("password") or None,
    )


async def _share_links_page(
    context: PageContext,
    workspace: Workspace,
    member: Member,
    *,
    shown: ShownSecret | None = None,
    refusal: ApiError | None = None,
) -> Response:
    caller, change_executor = context.caller(workspace, member), context.component(ChangeExecutor)
    text = replace_nul_and_surrogates(request.args.get("find", "")).strip()
    query = ShareLinkQuery(limit=MAX_LINKS, cursor=request.args.get("cursor"))
    try:
        page = await SHARE_LINKS.operation("list_share_links")(query, caller=caller, changes=change_executor)
    except BadRequest:
        raise NotFound from None
    return await context.render_page(
        "share_links.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        links=page.share_links,
        following=page.next_cursor,
        saved=await _find_newest_or_matching_shareable(change_executor, caller, text)
        if _may_share(caller)
        else None,
        days=EXPIRY_LABELS,
        ranges=[(name, label_of_preset(name)) for name in OFFERED_RANGES],
        shown=shown,
    )


async def _find_newest_or_matching_shareable(
    change_executor: ChangeExecutor, caller: Caller, search_text: str
) -> ShareableObjects:
    async with change_executor.transactions.read(caller.workspace.id) as unit:
        records_by_type = {
            kind: await _newest_or_matching_records(unit.resources, SHAREABLE_TYPES[kind], search_text)
            for kind in TYPE_TITLES
        }
    kinds = [
        (title, [(f"{kind}:{record.id}", record.name) for record in records_by_type[kind][:MAX_OFFERED]])
        for kind, title in TYPE_TITLES.items()
    ]
    return ShareableObjects(
        kinds, search_text, any(len(records) > MAX_OFFERED for records in records_by_type.values())
    )


async def _newest_or_matching_records(
    records: RecordReader, model: type[ShareableRecord], search_text: str
) -> Sequence[ShareableRecord]:
    """The newest of a kind, or those a text is a part of the name of; one more than is offered."""
    most = MAX_OFFERED + 1
    return await (
        records.search_by_name_prefix_first(model, search_text, most)
        if search_text
        else records.list_page(model, most)
    )


def _may_share(caller: Caller) -> bool:
    return Scope.WRITE_REPORTS in caller.credential.scopes


def _require_sharing_caller(context: PageContext, workspace: Workspace, member: Member) -> Caller:
    """The person, who may share.

    Raises:
        Forbidden: the role does not allow it.
    """
    caller = context.caller(workspace, member)
    if not _may_share(caller):
        raise Forbidden("Your role does not allow this", "role_required")
    return caller


PAGES: Final = (
    Page("GET /w/<public_id>/shared", show_share_links),
    Page("POST /w/<public_id>/shared", publish_object_once),
    Page("POST /w/<public_id>/shared/<link_id>", revoke_link),
)
