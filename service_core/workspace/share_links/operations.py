"""Creating and revoking share links. Neither is undone, and a retry does not repeat the secret URL."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from service_core.access.members.ports import Passwords
from service_core.access.models import Caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.operations import requested_dry_run
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.changes.schemas import DryRunBody, DryRunQuery
from service_core.kernel.errors import Unprocessable
from service_core.kernel.ids import new_token, sha256_hex
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Reversibility, Scope, operation
from service_core.kernel.settings import Settings
from service_core.kernel.timestamps import parse_span_of_date_or_timestamp
from service_core.workspace.share_links.models import ShareLink, ShareLinkStatus
from service_core.workspace.share_links.page_options import (
    invalid_field,
    require_password_length,
    validate_allowed_ranges,
    validate_embed_hosts,
)
from service_core.workspace.share_links.schemas import CreateShareLink, NewShareLink
from service_core.workspace.share_links.shareable_types import SHAREABLE_TYPES

MAX_EXPIRY_DAYS: Final = 365
TOKEN_HINT_LENGTH: Final = 4


class ShareLinkPath(BaseModel):
    """Path parameters."""

    shareLinkId: UUID  # noqa: N815 - as in the path


@operation(
    "POST /share-links",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="share-links",
    errors=(422,),
    reversibility=Reversibility.REVERSIBLE_WITH_EFFECTS,
)
async def create_share_link(
    body: CreateShareLink,
    *,
    caller: Caller,
    changes: ChangeExecutor,
    settings: Settings,
    passwords: Passwords,
) -> HandlerResponse[Envelope]:
    """Publish one report, dashboard or analysis on a page that needs no login.

    `data.url` is shown only here, and `Idempotency-Key` is ignored: if lost, revoke the link and make another.
    """
    token = new_token()
    password_hash = await _hash_password_if_any(body, passwords)

    async def create_link_to_live_object(transaction: Transaction) -> Change:
        new = body.share_link
        expires_at = _parse_expiry(new, caller)
        shared = await transaction.resources.get(SHAREABLE_TYPES[new.object_type], new.object_id)
        if shared is None:
            raise Unprocessable(
                f"There is no such {new.object_type}", "unknown_object", field="share_link.object_id"
            )
        link = ShareLink(
            **new_record_fields(caller),
            name=shared.name,
            object_type=new.object_type,
            object_id=new.object_id,
            show_workspace_name=new.show_workspace_name,
            expires_at=expires_at,
            token_hint=token[-TOKEN_HINT_LENGTH:],
            digest=sha256_hex(token),
            allowed_ranges=validate_allowed_ranges(new.allowed_ranges),
            embed_hosts=validate_embed_hosts(new.embed_hosts),
            has_password=password_hash is not None,
            password_hash=password_hash,
        )
        from_now = frozenset() if new.expires_in_days is None else frozenset({"expires_at"})
        generated = GENERATED_FIELDS | {"token_hint"}
        return Change(Action.CREATE, None, link, generated, fields_counted_from_now=from_now)

    response = await changes.preview_or_apply_change(caller, create_link_to_live_object, dry_run=body.dry_run)
    envelope = response.body
    url = f"{settings.http.effective_app_url}/share/{token}" if envelope.applied else None
    data = {**(envelope.data or {}), "url": url}
    return HandlerResponse(envelope.model_copy(update={"data": data}), response.status, response.headers)


@operation(
    "DELETE /share-links/{shareLinkId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="share-links",
    body_optional=True,
    reversibility=Reversibility.IRREVERSIBLE,
)
async def revoke_share_link(
    path: ShareLinkPath, query: DryRunQuery, body: DryRunBody, *, caller: Caller, changes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Revoke a link, for good: its page answers 410 from the next request on."""

    async def revoke_unless_revoked(transaction: Transaction) -> Change:
        link = (await get_or_404(transaction.resources, ShareLink, path.shareLinkId)).as_of(caller.now)
        revoked = revoked_share_link(link, caller.now)
        generated = frozenset({"updated_at", "revoked_at"})
        return Change(
            Action.REVOKE, link, revoked, generated_fields=generated, always_shown_fields=("status",)
        )

    return await changes.preview_or_apply_change(
        caller, revoke_unless_revoked, dry_run=requested_dry_run(query, body)
    )


def revoked_share_link(link: ShareLink, now: datetime) -> ShareLink:
    """Returns the link as revoked; one that is revoked stays as it is."""
    if link.status is ShareLinkStatus.REVOKED:
        return link
    return link.with_fields(now, status=ShareLinkStatus.REVOKED, revoked_at=now)


async def _hash_password_if_any(body: CreateShareLink, passwords: Passwords) -> str | None:
    """Returns the hash of the password of a new link; of a dry run an empty text, since hashing takes time.

    Raises:
        Unprocessable: ``invalid_field``.
    """
    password = body.share_link.password
    if password is None:
        return None
    require_password_length(password)
    return "" if body.dry_run else await passwords.hash(password)


def _parse_expiry(new: NewShareLink, caller: Caller) -> datetime | None:
    """Returns when the link ends; None for never.

    Raises:
        Unprocessable: ``invalid_field``.
    """
    if new.expires_at and new.expires_in_days is not None:
        raise invalid_field("expires_in_days", "and expires_at say the same twice; send one of them")
    if new.expires_in_days is not None:
        if not 1 <= new.expires_in_days <= MAX_EXPIRY_DAYS:
            raise invalid_field("expires_in_days", f"is 1 to {MAX_EXPIRY_DAYS}")
        return caller.now + timedelta(days=new.expires_in_days)
    if not new.expires_at:
        return None
    span = parse_span_of_date_or_timestamp(new.expires_at, caller.workspace.zone)
    if span is None:
        raise invalid_field("expires_at", "must be a date or an instant (ISO 8601)")
    is_date = len(new.expires_at.strip()) == len("2026-07-01")
    end = span.end if is_date else span.start
    if end <= caller.now:
        raise invalid_field("expires_at", "must lie ahead")
    return end
