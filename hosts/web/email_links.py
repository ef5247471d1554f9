"""The pages of signed links in e-mails: to confirm an address, and to unsubscribe it.

A link changes nothing when it is opened, because programs that check mail open links: the page has a button.
"""

from dataclasses import dataclass, replace
from typing import Final

from quart import Response, request

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from service_core.access.models import Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.errors import NotFound
from service_core.workspace.notifications.ports import EmailConsent
from service_core.workspace.notifications.signed_links import EmailLink, LinkAction, is_signed_by

MAX_EMAIL_LENGTH: Final = 254


@dataclass(frozen=True, slots=True)
class OpenedLink:
    """A valid link, and the subject of the e-mails it is about."""

    workspace: Workspace
    link: EmailLink
    subject: str


async def show_confirmation(context: PageContext) -> Response:
    """The page with the button that confirms an address."""
    return await _link_page(context, await _open_link(context, "confirm"), is_done=False)


async def confirm_address(context: PageContext) -> Response:
    """Confirm an address; e-mails are sent to it from now on."""
    opened = await _open_link(context, "confirm")
    await _save_answer(context, opened)
    return await _link_page(context, opened, is_done=True)


async def show_unsubscription(context: PageContext) -> Response:
    """The page with the button that unsubscribes an address."""
    return await _link_page(context, await _open_link(context, "unsubscribe"), is_done=False)


async def unsubscribe_address(context: PageContext) -> Response:
    """Unsubscribe an address: no more of these e-mails is sent to it. Mail programs send this request themselves."""
    opened = await _open_link(context, "unsubscribe")
    await _save_answer(context, opened)
    return await _link_page(context, opened, is_done=True)


async def _save_answer(context: PageContext, opened: OpenedLink) -> None:
    """Saves the consent; who confirms after unsubscribing gets e-mails again."""
    consents, link, now = context.store.email_consents, opened.link, context.clock()
    known = await consents.get_consents(link.source_id)
    consent = known.get(link.email, EmailConsent(source_id=link.source_id, email=link.email))
    changed = (
        replace(consent, confirmed_at=now, unsubscribed_at=None)
        if link.action == "confirm"
        else replace(consent, unsubscribed_at=now)
    )
    await consents.save_consent(changed)


async def _open_link(context: PageContext, action: LinkAction) -> OpenedLink:
    """Returns the link of the address of the request.

    Raises:
        NotFound: its signature is wrong, or what it is about was deleted.
    """
    arguments = request.args
    workspace = await context.component(WorkspaceCache).find_by_public_id(arguments.get("w", ""))
    email = arguments.get("email", "")
    source_id = parse_id_or_raise_not_found(arguments.get("id", ""))
    link = EmailLink(action, arguments.get("type", ""), source_id, email)
    if (
        workspace is None
        or len(email) > MAX_EMAIL_LENGTH
        or not is_signed_by(workspace, link, arguments.get("s", ""))
    ):
        raise NotFound
    changes = context.component(ChangeExecutor)
    resource_type = changes.resource_types.get(link.source_type)
    if resource_type is None:
        raise NotFound
    async with changes.transactions.read(workspace.id) as transaction:
        source = await transaction.resources.get(resource_type.model, source_id)
    if source is None:
        raise NotFound
    return OpenedLink(workspace, link, source.name)


async def _link_page(context: PageContext, opened: OpenedLink, *, is_done: bool) -> Response:
    return await context.render_page(
        "email_link.html",
        action=opened.link.action,
        email=opened.link.email,
        subject=opened.subject,
        workspace_name=opened.workspace.name,
        is_done=is_done,
    )


PAGES: Final = (
    Page("GET /email/confirm", show_confirmation, is_public=True),
    Page("POST /email/confirm", confirm_address, is_public=True),
    Page("GET /email/unsubscribe", show_unsubscription, is_public=True),
    Page("POST /email/unsubscribe", unsubscribe_address, is_public=True),
)
