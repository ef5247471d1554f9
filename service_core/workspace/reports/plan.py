"""How a report is made and changed."""

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.workspace.reports.models import DEFAULT_RANGE, Report
from service_core.workspace.reports.schemas import NewReport, ReportPatch
from service_core.workspace.reports.validate_definition import DefinitionValidator, complete_definition
from service_core.workspace.validation import check_not_stale, validate_date_range, validate_text

LONGEST_NAME: Final = 120
LONGEST_DESCRIPTION: Final = 2_000
_ASIDE: Final = {"expected_updated_at"}


def create(caller: Caller, wanted: NewReport, definitions: DefinitionValidator) -> ChangePlanner:
    """The plan of a new report.

    Raises:
        BadRequest: ``invalid_date_range``.
        Unprocessable: ``invalid_field``, and what `Definitions.check` and `defined` refuse.
    """
    _check_range(wanted, caller)

    async def plan(unit: Transaction) -> Change:  # noqa: ARG001 - a new report stands for itself
        report = _report({**dict(wanted), **new_record_fields(caller)}, wanted.model_fields_set)
        definitions.validate_report(report, caller)
        return Change(Action.CREATE, None, report, GENERATED_FIELDS)

    return plan


def update(
    caller: Caller, report_id: UUID, patch: ReportPatch, definitions: DefinitionValidator
) -> ChangePlanner:
    """The plan of a changed report: only the fields sent change.

    Raises:
        NotFound: the workspace has no such report.
        BadRequest: ``invalid_date_range``.
        Conflict: ``stale_update``.
        Unprocessable: as for a new one.
    """
    _check_range(patch, caller)

    async def plan(unit: Transaction) -> Change:
        report = await get_or_404(unit.resources, Report, report_id)
        check_not_stale(report, patch.expected_updated_at)
        sent = patch.changed_fields()
        changed = _report({**dict(report), **sent, "updated_at": report.next_updated_at(caller.now)}, sent)
        definitions.validate_report(changed, caller)
        return Change(Action.UPDATE, report, changed)

    return plan


def _check_range(said: NewReport | ReportPatch, caller: Caller) -> None:
    if said.default_range is not None:
        validate_date_range(said.default_range, caller, "report.default_range")


def _report(fields: Mapping[str, Any], sent: Collection[str]) -> Report:
    """A report of these fields; what is null takes its default."""
    validate_text("report.name", fields["name"], LONGEST_NAME)
    validate_text("report.description", fields["description"], LONGEST_DESCRIPTION, min_length=0)
    whole = complete_definition({name: value for name, value in fields.items() if name not in _ASIDE}, sent)
    usual = {
        "description": whole["description"] or None,
        "default_range": whole["default_range"] or DEFAULT_RANGE,
    }
    return Report.model_validate({**whole, **usual})
