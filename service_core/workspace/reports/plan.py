"""How a report is made and changed."""

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born, live
from service_core.changes.ports import Transaction
from service_core.changes.write import Plan
from service_core.workspace.refusals import check_current, check_range, check_text
from service_core.workspace.reports.bodies import NewReport, ReportPatch
from service_core.workspace.reports.definition import Definitions, defined
from service_core.workspace.reports.model import USUAL_RANGE, Report

LONGEST_NAME: Final = 120
LONGEST_DESCRIPTION: Final = 2_000
_ASIDE: Final = {"expected_updated_at"}


def create(who: Caller, wanted: NewReport, definitions: Definitions) -> Plan:
    """The plan of a new report.

    Raises:
        BadRequest: ``invalid_date_range``.
        Unprocessable: ``invalid_field``, and what `Definitions.check` and `defined` refuse.
    """
    _check_range(wanted, who)

    async def plan(unit: Transaction) -> Change:  # noqa: ARG001 - a new report stands for itself
        report = _report({**dict(wanted), **born(who)}, wanted.model_fields_set)
        definitions.check(report, who)
        return Change(Action.CREATE, None, report, ASSIGNED)

    return plan


def update(who: Caller, report_id: UUID, patch: ReportPatch, definitions: Definitions) -> Plan:
    """The plan of a changed report: only the fields sent change.

    Raises:
        NotFound: the workspace has no such report.
        BadRequest: ``invalid_date_range``.
        Conflict: ``stale_update``.
        Unprocessable: as for a new one.
    """
    _check_range(patch, who)

    async def plan(unit: Transaction) -> Change:
        report = await live(unit.resources, Report, report_id)
        check_current(report, patch.expected_updated_at)
        sent = patch.sent()
        changed = _report({**dict(report), **sent, "updated_at": report.changed_at(who.now)}, sent)
        definitions.check(changed, who)
        return Change(Action.UPDATE, report, changed)

    return plan


def _check_range(said: NewReport | ReportPatch, who: Caller) -> None:
    if said.default_range is not None:
        check_range(said.default_range, who, "report.default_range")


def _report(fields: Mapping[str, Any], sent: Collection[str]) -> Report:
    """A report of these fields; what is null takes its default."""
    check_text("report.name", fields["name"], LONGEST_NAME)
    check_text("report.description", fields["description"], LONGEST_DESCRIPTION, shortest=0)
    whole = defined({name: value for name, value in fields.items() if name not in _ASIDE}, sent)
    usual = {
        "description": whole["description"] or None,
        "default_range": whole["default_range"] or USUAL_RANGE,
    }
    return Report.model_validate({**whole, **usual})
