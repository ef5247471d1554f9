"""Sessions of programs in the audit log, and taking back everything of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from quart import Response

from hosts.web.labels import ACTION_LABELS
from hosts.web.page_context import Page, PageContext
from hosts.web.workspace_view import open_workspace_view
from service_core.changes.actor import NamedActor
from service_core.changes.audit_log import AuditEntry
from service_core.kernel.errors import NotFound
from service_core.kernel.timestamps import format_timestamp

SESSION_PAUSE: Final = timedelta(minutes=30)
"""Pause between two changes of a program that begins another session."""

_ACTOR_FIELDS: Final = ("key_id", "client_id", "user_id")


@dataclass(frozen=True, slots=True)
class AuditSession:
    """Changes that follow each other by one actor over one interface, newest first.

    Attributes:
        entries: the changes, without those of others.
    """

    entries: Sequence[AuditEntry]

    @property
    def actor(self) -> NamedActor:
        """Who made the changes."""
        return self.entries[0].actor

    @property
    def is_of_program(self) -> bool:
        """Whether a key or a connected app made them, and not a person in the web application."""
        return self.actor.type == "key" or self.actor.client_id is not None

    @property
    def program(self) -> str:
        """Name of the key or app; apps without a known name are called by their id."""
        actor = self.actor
        return actor.name if actor.type == "key" else actor.client_name or actor.client_id or ""

    @property
    def rollback_fields(self) -> dict[str, str]:
        """The fields of the form that takes the session back."""
        actor = self.actor
        whose = (
            {"key_id": str(actor.id)}
            if actor.type == "key"
            else {"client_id": actor.client_id or "", "user_id": str(actor.id)}
        )
        since, until = (format_timestamp(each.created_at) for each in (self.entries[-1], self.entries[0]))
        return {**whose, "since": since, "until": until}


def group_by_session(newest_first: Sequence[AuditEntry]) -> list[AuditSession]:
    """Returns entries by session; one that is cut by the end of the list continues on the next page."""
    sessions: list[list[AuditEntry]] = []
    for entry in newest_first:
        if sessions and _continues(sessions[-1][-1], entry):
            sessions[-1].append(entry)
        else:
            sessions.append([entry])
    return [AuditSession(entries) for entries in sessions]


def _continues(later: AuditEntry, earlier: AuditEntry) -> bool:
    is_same = _session_key(later) == _session_key(earlier)
    pause: timedelta = later.created_at - earlier.created_at
    return is_same and pause <= SESSION_PAUSE


def _session_key(entry: AuditEntry) -> tuple[object, ...]:
    return entry.actor.type, entry.actor.id, entry.actor.client_id, entry.via


async def take_back_session(context: PageContext, public_id: str) -> Response:
    """Show what taking back a session would do, or do it."""
    view, form = await open_workspace_view(context, public_id), context.form
    action = form.text("action")
    if action not in ("preview", "save"):
        raise NotFound
    actor = {name: form.text(name) for name in _ACTOR_FIELDS if form.text(name)}
    fields = {**actor, "since": form.text("since"), "until": form.text("until")}
    body: dict[str, Any] = {"actor": actor, "since": fields["since"], "until": fields["until"]}
    result = await view.send("POST", "/audit/rollback", {**body, "dry_run": action == "preview"})
    if action == "save" and result.ok:
        return context.redirect_to(f"{view.path}/audit", done="taken-back")
    return await view.render(
        "audit_rollback.html",
        200 if result.ok else result.status,
        navigation_path="/audit",
        error=None if result.ok else result.refusal_message,
        rollback=result.body if result.ok else None,
        fields=fields,
        actions=ACTION_LABELS,
        reasons=_REASONS,
    )


_REASONS: Final = {
    "changed_since": "changed by others since",
    "in_use": "others use it",
    "not_undoable": "cannot be undone",
}
"""Why a change is left alone -> words of the page."""


PAGES: Final = (Page("POST /w/<public_id>/audit/rollback", take_back_session),)
