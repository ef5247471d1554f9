"""How a share link is made and revoked; neither is taken back."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born, live
from service_core.changes.ports import Transaction
from service_core.changes.write import Plan
from service_core.kernel.errors import Unprocessable
from service_core.kernel.ids import digest
from service_core.kernel.instants import parse
from service_core.workspace.share_links.bodies import NewShareLink
from service_core.workspace.share_links.model import ShareLink, Status
from service_core.workspace.share_links.objects import OBJECTS

LONGEST_DAYS: Final = 365
HINT_LENGTH: Final = 4


def create(who: Caller, wanted: NewShareLink, token: str) -> Plan:
    """The plan of a new link.

    Args:
        who: the caller.
        wanted: what to publish.
        token: the secret of its address; only its digest and its last four characters are kept.

    Raises:
        Unprocessable: ``unknown_object``, ``invalid_field``.
    """

    async def plan(unit: Transaction) -> Change:
        expires_at = _expiry(wanted, who)
        shared = await unit.resources.get(OBJECTS[wanted.object_type], wanted.object_id)
        if shared is None:
            raise Unprocessable(
                f"There is no such {wanted.object_type}", "unknown_object", field="share_link.object_id"
            )
        link = ShareLink(
            **born(who),
            name=shared.name,
            object_type=wanted.object_type,
            object_id=wanted.object_id,
            show_workspace_name=wanted.show_workspace_name,
            expires_at=expires_at,
            token_hint=token[-HINT_LENGTH:],
            digest=digest(token),
        )
        return Change(Action.CREATE, None, link, ASSIGNED | {"token_hint"})

    return plan


def revoke(who: Caller, link_id: UUID) -> Plan:
    """The plan of a revoked link; one that is revoked already stays as it is.

    Raises:
        NotFound: the workspace has no such link.
    """

    async def plan(unit: Transaction) -> Change:
        link = (await live(unit.resources, ShareLink, link_id)).at(who.now)
        ended = {"status": Status.REVOKED, "revoked_at": who.now, "updated_at": link.changed_at(who.now)}
        new = link if link.status is Status.REVOKED else _replaced(link, ended)
        return Change(Action.REVOKE, link, new, assigned=_GIVEN, named=("status",))

    return plan


_GIVEN: Final = frozenset({"updated_at", "revoked_at"})


def _replaced(link: ShareLink, fields: dict[str, object]) -> ShareLink:
    return ShareLink.model_validate({**link.state, **fields})


def _expiry(wanted: NewShareLink, who: Caller) -> datetime | None:
    """When the link ends; None for never."""
    if wanted.expires_at and wanted.expires_in_days is not None:
        raise _wrong("expires_in_days", "and expires_at say the same twice; send one of them")
    if wanted.expires_in_days is not None:
        if not 1 <= wanted.expires_in_days <= LONGEST_DAYS:
            raise _wrong("expires_in_days", f"is 1 to {LONGEST_DAYS}")
        return who.now + timedelta(days=wanted.expires_in_days)
    if not wanted.expires_at:
        return None
    span = parse(wanted.expires_at, who.workspace.zone)
    if span is None:
        raise _wrong("expires_at", "must be a date or an instant (ISO 8601)")
    whole_day = len(wanted.expires_at.strip()) == len("2026-07-01")
    end = span.end if whole_day else span.start
    if end <= who.now:
        raise _wrong("expires_at", "must lie ahead")
    return end


def _wrong(field: str, rule: str) -> Unprocessable:
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"share_link.{field}")
