"""The page on which a person approves or declines the write of a program."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from quart import Response

from hosts.web.change_preview import ACTION_TITLES, changed_fields_set_by_persons
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.labels import REVERSIBILITY_LABELS, label_scopes
from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.kernel.errors import ApiError, Conflict, Forbidden, NotFound
from service_core.kernel.operations import Scope
from service_core.workspace.approvals.approvers import can_approve, can_view
from service_core.workspace.approvals.decision import ApprovalDecisions
from service_core.workspace.approvals.models import WriteApproval

_SECRETS_SHOWN_ONCE: Final = {
    "share_link": ("url", "Public link"),
    "alert": ("webhook_secret", "Signing secret of the webhooks"),
    "webhook": ("secret", "Signing secret of the webhook"),
}
"""Resource type -> the field of an answer that holds a secret, and its label."""


@dataclass(frozen=True, slots=True)
class _ViewedApproval:
    approval: WriteApproval
    workspace: Workspace
    member: Member


async def show_waiting_change(context: PageContext, approval_id: str) -> Response:
    """What a program wants to change, for members of its workspace."""
    return await _approval_page(context, parse_id_or_raise_not_found(approval_id))


async def approve_or_decline_change(context: PageContext, approval_id: str) -> Response:
    """Approve or decline, once."""
    id_, form = parse_id_or_raise_not_found(approval_id), context.form
    viewed, decisions = await _find_approval(context, id_), context.component(ApprovalDecisions)
    approver = context.caller(viewed.workspace, viewed.member)
    answers: list[dict[str, Any]] = []
    try:
        if form.text("decision") == "approve":
            made = await decisions.approve(approver, viewed.member, id_, form.text("nonce"))
            answers = made.answers
        elif form.text("decision") == "decline":
            await decisions.decline(approver, viewed.member, id_, form.text("nonce"))
        else:
            raise NotFound
    except (Conflict, Forbidden) as refusal:
        return await _approval_page(context, id_, refusal)
    return await _approval_page(context, id_, shown_once=_secrets_shown_once(answers))


def _secrets_shown_once(answers: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Returns the secrets that the writes made, each after its label; they are shown nowhere else."""
    found = []
    for answer in answers:
        type_ = answer["diff"]["resource"]["type"] if "diff" in answer else ""
        field, label = _SECRETS_SHOWN_ONCE.get(type_, ("", ""))
        secret = (answer.get("data") or {}).get(field)
        if isinstance(secret, str):
            found.append((label, secret))
    return found


async def _find_approval(context: PageContext, approval_id: UUID) -> _ViewedApproval:
    """Returns the approval in one of the workspaces of whoever is signed in.

    Raises:
        SignInRequired: nobody is.
        NotFound: no workspace of theirs has it, or it is private to somebody else.
    """
    for workspace, member in await context.list_memberships():
        async with context.store.transactions.read(workspace.id) as transaction:
            approval = await transaction.resources.get(WriteApproval, approval_id)
        if approval is not None and can_view(approval, member):
            return _ViewedApproval(approval, workspace, member)
    raise NotFound


async def _approval_page(
    context: PageContext,
    approval_id: UUID,
    refusal: ApiError | None = None,
    shown_once: list[tuple[str, str]] | None = None,
) -> Response:
    viewed = await _find_approval(context, approval_id)
    approval = viewed.approval
    return await context.render_page(
        "changes.html",
        refusal=refusal,
        approval=approval,
        approval_status=approval.status_at(context.clock()).value,
        chosen_workspace=viewed.workspace,
        program=approval.requester.client_name or approval.requester.name,
        scopes=label_scopes(map(Scope, approval.scopes)),
        changes=[_describe_change(change) for change in approval.planned_changes],
        may_decide=can_approve(approval, viewed.member),
        shown_once=shown_once or [],
    )


def _describe_change(change: dict[str, Any]) -> dict[str, Any]:
    """Returns a planned change in words."""
    diff = change["diff"]
    kind = diff["resource"]["type"].replace("_", " ")
    return {
        "heading": f"{ACTION_TITLES.get(diff['action'], 'Change')} {kind} “{diff['resource']['label']}”",
        "action": diff["action"],
        "lines": changed_fields_set_by_persons(diff, is_cut=False),
        "effects": [effect["summary"] for effect in diff["effects"] if effect.get("summary")],
        "reversibility": REVERSIBILITY_LABELS[change["reversibility"]],
    }


PAGES: Final = (
    Page("GET /changes/<approval_id>", show_waiting_change),
    Page("POST /changes/<approval_id>", approve_or_decline_change),
)
