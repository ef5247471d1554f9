"""How a script is proposed."""

import re
from typing import Final

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import new_record_fields
from service_core.kernel.errors import Unprocessable
from service_core.workspace.scripts.models import ProposalStatus, ScriptProposal
from service_core.workspace.scripts.schemas import NewProposal
from service_core.workspace.url_rules import validate_url

LONGEST_CONTENT: Final = 50_000
LONGEST_TEXT: Final = 255
LONGEST_NOTE: Final = 2_000
MOST_CONDITIONS: Final = 10
_INTEGRITY: Final = re.compile(r"sha(256|384|512)-[A-Za-z0-9+/]{43,86}={0,2}")
_HTTPS: Final = frozenset({"https"})


def propose(caller: Caller, wanted: NewProposal) -> ChangePlanner:
    """The plan of a new proposal; a pending one of the same name gives way to it.

    Raises:
        Unprocessable: ``invalid_field``, ``invalid_url``.
    """

    async def plan(unit: Transaction) -> Change:
        _check(wanted)
        same = {"name": wanted.name, "status": ProposalStatus.PENDING.value}
        former = await unit.resources.list_all(ScriptProposal, field_filters=same)
        proposal = _draft(caller, wanted, former)
        ended = {
            "status": ProposalStatus.SUPERSEDED,
            "superseded_by": proposal.id,
            "updated_at": proposal.updated_at,
        }
        beside = tuple(one.model_copy(update=ended) for one in former)
        return Change(Action.PROPOSE, None, proposal, GENERATED_FIELDS, beside)

    return plan


def _draft(caller: Caller, wanted: NewProposal, former: list[ScriptProposal]) -> ScriptProposal:
    return ScriptProposal(
        **new_record_fields(caller),
        name=wanted.name,
        type=wanted.type,
        content=wanted.content,
        trigger=wanted.trigger,
        frequency=wanted.frequency,
        conditions=tuple(wanted.conditions),
        settings=wanted.settings,
        note=wanted.note or None,
        supersedes=tuple(one.id for one in former),
    )


def _check(wanted: NewProposal) -> None:
    _check_text("name", wanted.name, LONGEST_TEXT)
    _check_text("content", wanted.content, LONGEST_CONTENT)
    if wanted.note:
        _check_text("note", wanted.note, LONGEST_NOTE)
    if len(wanted.conditions) > MOST_CONDITIONS:
        raise _wrong("conditions", f"has at most {MOST_CONDITIONS} entries")
    for index, condition in enumerate(wanted.conditions):
        place = f"conditions[{index}]"
        _check_text(f"{place}.value", condition.value, LONGEST_TEXT)
        if condition.type == "url_parameter":
            _check_text(f"{place}.parameter", condition.parameter or "", LONGEST_TEXT)
    if wanted.type == "external":
        validate_url("content", wanted.content, _HTTPS, within="proposal")
        if not _INTEGRITY.fullmatch(wanted.settings.integrity or ""):
            raise _wrong("settings.integrity", "must be the hash of the file, such as sha384-…")


def _check_text(field: str, text: str, longest: int) -> None:
    if not text.strip() or len(text) > longest:
        raise _wrong(field, f"has 1 to {longest} characters")


def _wrong(field: str, rule: str) -> Unprocessable:
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"proposal.{field}")
