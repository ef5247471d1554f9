"""Script proposals as a writable resource. A proposal installs nothing."""

import re
from collections.abc import Sequence
from typing import Any, Final

from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.resource import RecordReader, ResourceType, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.workspace.scripts.models import ProposalStatus, ScriptProposal
from service_core.workspace.scripts.schemas import ListedProposal, NewProposal, WholeProposal
from service_core.workspace.url_rules import validate_public_url
from service_core.workspace.validation import validate_text

MAX_CONTENT_LENGTH: Final = 50_000
MAX_TEXT_LENGTH: Final = 255
MAX_NOTE_LENGTH: Final = 2_000
MAX_CONDITIONS: Final = 10
_INTEGRITY: Final = re.compile(r"sha(256|384|512)-[A-Za-z0-9+/]{43,86}={0,2}")
_HTTPS: Final = frozenset({"https"})


async def propose_script(new: NewProposal, write: WriteContext[Any]) -> Change:
    """Propose a script; nothing is installed.

    An owner or admin approves or rejects it in the web application. A pending proposal of the same
    name is superseded.
    """
    _validate_proposal(new)
    same = {"name": new.name, "status": ProposalStatus.PENDING.value}
    pending = await write.records.list_all(ScriptProposal, field_filters=same)
    fields = {**dict(new), "note": new.note or None, "supersedes": [old.id for old in pending]}
    proposal = ScriptProposal(**write.new_fields(), **fields)
    superseded = {
        "status": ProposalStatus.SUPERSEDED,
        "superseded_by": proposal.id,
        "updated_at": proposal.updated_at,
    }
    additional = tuple(old.model_copy(update=superseded) for old in pending)
    return Change(Action.PROPOSE, None, proposal, GENERATED_FIELDS, additional)


def _validate_proposal(new: NewProposal) -> None:
    validate_text("proposal.name", new.name, MAX_TEXT_LENGTH)
    validate_text("proposal.content", new.content, MAX_CONTENT_LENGTH)
    if new.note:
        validate_text("proposal.note", new.note, MAX_NOTE_LENGTH)
    if len(new.conditions) > MAX_CONDITIONS:
        raise _invalid_field("conditions", f"has at most {MAX_CONDITIONS} entries")
    for index, condition in enumerate(new.conditions):
        field = f"proposal.conditions[{index}]"
        validate_text(f"{field}.value", condition.value, MAX_TEXT_LENGTH)
        if condition.type == "url_parameter":
            validate_text(f"{field}.parameter", condition.parameter, MAX_TEXT_LENGTH)
    if new.type == "external":
        validate_public_url("content", new.content, _HTTPS, parent_field="proposal")
        if not _INTEGRITY.fullmatch(new.settings.integrity or ""):
            raise _invalid_field("settings.integrity", "must be the hash of the file, such as sha384-…")


def _invalid_field(field: str, rule: str) -> Unprocessable:
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"proposal.{field}")


async def describe_approval_of_new_proposal(
    _: RecordReader, prior: State | None, new: State | None, *, settings: Settings
) -> Sequence[State]:
    """Returns, for a new proposal, who has to approve it and where."""
    if prior is not None or new is None:
        return ()
    effect = {
        "type": "script_proposal",
        "summary": f"draft '{new['name']}' waits for approval",
        "requires_approval": True,
        "approver_roles": ["owner", "admin"],
        "review_surface": f"{settings.http.effective_app_url}/container/proposals/{new['id']}"
        if new["id"]
        else None,
        "supersedes": list(new["supersedes"]),
    }
    return (effect,)


SCRIPT_PROPOSALS: Final = resource(
    ResourceType(ScriptProposal, Scope.PROPOSE_SCRIPTS, effects=describe_approval_of_new_proposal),
    "/scripts/proposals/{proposalId}",
    names=("script_proposal", "script_proposals"),
    listing=Listing("Every proposal, newest first, with its verdict.", ListedProposal),
    get="One proposal with its script and the reviewer's note.",
    create=propose_script,
    answer=WholeProposal,
    are_reads_aggregate=True,
)
