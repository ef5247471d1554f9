"""What a write of a program needs besides its scope: the token of a plan, or the approval of a person."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from service_core.access.models import AuthContext, Caller, CredentialKind, RequestInterface
from service_core.access.write_policy import ProgramKind
from service_core.changes.models import Diff
from service_core.changes.outside_effects import classify_reversibility
from service_core.changes.resource import ResourceType
from service_core.kernel.errors import Conflict, Forbidden
from service_core.kernel.operations import Reversibility, Scope


class ApprovalRequired(Exception):
    """A person has to approve a write; nothing of it was kept.

    Args:
        requests: the writes of a change set; None for the request of the caller.
        change_set_id: of the change set.
        note: of the requester.
    """

    def __init__(
        self,
        requests: Sequence[Mapping[str, Any]] | None = None,
        change_set_id: UUID | None = None,
        note: str = "",
    ) -> None:
        super().__init__("a person has to approve this write")
        self.requests, self.change_set_id, self.note = requests, change_set_id, note


def program_kind(caller: Caller) -> ProgramKind | None:
    """Returns how the program of a request was let in; None for a person, the command line and the service itself."""
    if caller.request is None or caller.is_system or caller.interface is RequestInterface.DASHBOARD:
        return None
    return _kind_of_credential(caller)


def _kind_of_credential(subject: Caller | AuthContext) -> ProgramKind:
    return ProgramKind.OAUTH if subject.credential.kind is CredentialKind.OAUTH else ProgramKind.KEY


def has_to_plan_writes(subject: Caller | AuthContext) -> bool:
    """Returns whether the workspace, or the person who consented, demands a plan for each write of a program."""
    grant = subject.acting_user.grant if subject.acting_user else None
    is_demanded_by_person = grant is not None and grant.requires_plan
    return is_demanded_by_person or _kind_of_credential(subject) in subject.workspace.write_policy.plan_tokens


def require_plan_token(caller: Caller) -> None:
    """Refuses a write without a plan, of a program that has to plan its writes.

    Raises:
        Conflict: ``plan_required``.
    """
    if program_kind(caller) is None:
        return
    if has_to_plan_writes(caller):
        raise Conflict(
            "This write has to be planned first",
            "plan_required",
            hint="Send it to POST /change-sets, show the plan to the person, and apply it with its plan_token by "
            "POST /change-sets/{changeSetId}/apply.",
        )


def refuse_program_whose_writes_are_held_back(caller: Caller, scope: Scope) -> None:
    """Refuses a write that can be neither planned nor stored for an approval, of a program that would need one of them.

    Raises:
        Forbidden: ``role_required``.
    """
    kind = program_kind(caller)
    if kind is None:
        return
    needs_approval = caller.workspace.write_policy.needs_approval(kind, [(scope, False)])
    if needs_approval or has_to_plan_writes(caller):
        raise Forbidden(
            "This write has no plan that a person could approve",
            "role_required",
            hint="An owner or admin makes it in the web application.",
        )


def require_approval_if_policy_demands_it(
    caller: Caller, diffs: Iterable[Diff], resource_types: Mapping[str, ResourceType]
) -> None:
    """Stops a write of a program that a person has to approve.

    Args:
        caller: of the write.
        diffs: of everything it changes, applied in a transaction that ends without a trace.
        resource_types: by their name.

    Raises:
        ApprovalRequired: nothing is kept.
    """
    kind = program_kind(caller)
    if kind is None or not caller.workspace.write_policy.approvals:
        return
    changes = [
        (
            resource_types[diff.resource.type].scope,
            classify_reversibility(diff, resource_types[diff.resource.type]) is Reversibility.REVERSIBLE,
        )
        for diff in diffs
    ]
    if caller.workspace.write_policy.needs_approval(kind, changes):
        raise ApprovalRequired
