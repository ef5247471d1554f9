"""How a script is proposed."""

import re
from typing import Final

from service_core.access.model import Caller
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born
from service_core.changes.ports import Transaction
from service_core.changes.write import Plan
from service_core.kernel.errors import Unprocessable
from service_core.workspace.addresses import check_url
from service_core.workspace.scripts.bodies import NewProposal
from service_core.workspace.scripts.model import Proposal, Standing

LONGEST_CONTENT: Final = 50_000
LONGEST_TEXT: Final = 255
LONGEST_NOTE: Final = 2_000
MOST_CONDITIONS: Final = 10
_INTEGRITY: Final = re.compile(r"sha(256|384|512)-[A-Za-z0-9+/]{43,86}={0,2}")
_HTTPS: Final = frozenset({"https"})


def propose(who: Caller, wanted: NewProposal) -> Plan:
    """The plan of a new proposal; a pending one of the same name gives way to it.

    Raises:
        Unprocessable: ``invalid_field``, ``invalid_url``.
    """

    async def plan(unit: Transaction) -> Change:
        _check(wanted)
        same = {"name": wanted.name, "status": Standing.PENDING.value}
        former = await unit.resources.every(Proposal, matching=same)
        proposal = _draft(who, wanted, former)
        ended = {
            "status": Standing.SUPERSEDED,
            "superseded_by": proposal.id,
            "updated_at": proposal.updated_at,
        }
        beside = tuple(one.model_copy(update=ended) for one in former)
        return Change(Action.PROPOSE, None, proposal, ASSIGNED, beside)

    return plan


def _draft(who: Caller, wanted: NewProposal, former: list[Proposal]) -> Proposal:
    return Proposal(
        **born(who),
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
        check_url("content", wanted.content, _HTTPS, within="proposal")
        if not _INTEGRITY.fullmatch(wanted.settings.integrity or ""):
            raise _wrong("settings.integrity", "must be the hash of the file, such as sha384-…")


def _check_text(field: str, text: str, longest: int) -> None:
    if not text.strip() or len(text) > longest:
        raise _wrong(field, f"has 1 to {longest} characters")


def _wrong(field: str, rule: str) -> Unprocessable:
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"proposal.{field}")
