"""How a share link is made and revoked; neither is taken back."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.kernel.errors import Unprocessable
from service_core.kernel.ids import sha256_hex
from service_core.kernel.timestamps import parse_date_or_timestamp
from service_core.workspace.share_links.models import ShareLink, ShareLinkStatus
from service_core.workspace.share_links.schemas import NewShareLink
from service_core.workspace.share_links.shareable_types import SHAREABLE_TYPES

LONGEST_DAYS: Final = 365
HINT_LENGTH: Final = 4


def create(caller: Caller, wanted: NewShareLink, token: str) -> ChangePlanner:
    """The plan of a new link.

    Args:
        who: the caller.
        wanted: what to publish.
        token: the secret of its address; only its digest and its last four characters are kept.

    Raises:
        Unprocessable: ``unknown_object``, ``invalid_field``.
    """

    async def plan(unit: Transaction) -> Change:
        expires_at = _expiry(wanted, caller)
        shared = await unit.resources.get(SHAREABLE_TYPES[wanted.object_type], wanted.object_id)
        if shared is None:
            raise Unprocessable(
                f"There is no such {wanted.object_type}", "unknown_object", field="share_link.object_id"
            )
        link = ShareLink(
            **new_record_fields(caller),
            name=shared.name,
            object_type=wanted.object_type,
            object_id=wanted.object_id,
            show_workspace_name=wanted.show_workspace_name,
            expires_at=expires_at,
            token_hint=token[-HINT_LENGTH:],
            digest=sha256_hex(token),
        )
        return Change(Action.CREATE, None, link, GENERATED_FIELDS | {"token_hint"})

    return plan


def revoke(caller: Caller, link_id: UUID) -> ChangePlanner:
    """The plan of a revoked link; one that is revoked already stays as it is.

    Raises:
        NotFound: the workspace has no such link.
    """

    async def plan(unit: Transaction) -> Change:
        link = (await get_or_404(unit.resources, ShareLink, link_id)).with_status_at(caller.now)
        ended = {
            "status": ShareLinkStatus.REVOKED,
            "revoked_at": caller.now,
            "updated_at": link.next_updated_at(caller.now),
        }
        new = link if link.status is ShareLinkStatus.REVOKED else _replaced(link, ended)
        return Change(Action.REVOKE, link, new, generated_fields=_GIVEN, always_shown_fields=("status",))

    return plan


_GIVEN: Final = frozenset({"updated_at", "revoked_at"})


def _replaced(link: ShareLink, fields: dict[str, object]) -> ShareLink:
    return ShareLink.model_validate({**link.state, **fields})


def _expiry(wanted: NewShareLink, caller: Caller) -> datetime | None:
    """When the link ends; None for never."""
    if wanted.expires_at and wanted.expires_in_days is not None:
        raise _wrong("expires_in_days", "and expires_at say the same twice; send one of them")
    if wanted.expires_in_days is not None:
        if not 1 <= wanted.expires_in_days <= LONGEST_DAYS:
            raise _wrong("expires_in_days", f"is 1 to {LONGEST_DAYS}")
        return caller.now + timedelta(days=wanted.expires_in_days)
    if not wanted.expires_at:
        return None
    span = parse_date_or_timestamp(wanted.expires_at, caller.workspace.zone)
    if span is None:
        raise _wrong("expires_at", "must be a date or an instant (ISO 8601)")
    whole_day = len(wanted.expires_at.strip()) == len("2026-07-01")
    end = span.end if whole_day else span.start
    if end <= caller.now:
        raise _wrong("expires_at", "must lie ahead")
    return end


def _wrong(field: str, rule: str) -> Unprocessable:
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"share_link.{field}")
