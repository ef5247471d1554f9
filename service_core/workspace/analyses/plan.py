"""How an analysis is made and changed."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.changes.resource import RecordReader
from service_core.kernel.errors import Unprocessable
from service_core.workspace.analyses.models import Analysis, embedded_report_ids
from service_core.workspace.analyses.schemas import AnalysisPatch, NewAnalysis
from service_core.workspace.reports.models import DEFAULT_RANGE, Report
from service_core.workspace.reports.validate_definition import DefinitionValidator
from service_core.workspace.validation import check_not_stale, validate_date_range, validate_text

LONGEST_TITLE: Final = 200
LONGEST_BODY: Final = 100_000
MOST_PLANS: Final = 20
MOST_REPORTS: Final = 50
_LISTS: Final = ("plans", "report_ids")
_SAID: Final = ("title", "body_md", *_LISTS, "date_range")


def create(caller: Caller, wanted: NewAnalysis, definitions: DefinitionValidator) -> ChangePlanner:
    """The plan of a new analysis.

    Raises:
        BadRequest: ``invalid_date_range``.
        Unprocessable: ``invalid_field``, ``invalid_plan``, ``unknown_metric``, ``report_not_listed``,
            ``unknown_report``.
    """
    _check_range(wanted, caller)

    async def plan(unit: Transaction) -> Change:
        said = {name: getattr(wanted, name) for name in _SAID}
        analysis = Analysis(
            **new_record_fields(caller),
            **_stored(said),
        )
        await _check(analysis, said, unit.resources, definitions, caller)
        return Change(Action.CREATE, None, analysis, GENERATED_FIELDS)

    return plan


def update(
    caller: Caller, analysis_id: UUID, patch: AnalysisPatch, definitions: DefinitionValidator
) -> ChangePlanner:
    """The plan of a changed analysis: only the fields sent change, and only they are checked.

    Raises:
        NotFound: the workspace has no such analysis.
        BadRequest: ``invalid_date_range``.
        Conflict: ``stale_update``.
        Unprocessable: as for a new one.
    """
    _check_range(patch, caller)

    async def plan(unit: Transaction) -> Change:
        analysis = await get_or_404(unit.resources, Analysis, analysis_id)
        check_not_stale(analysis, patch.expected_updated_at)
        sent = patch.changed_fields()
        after = {**dict(analysis), **_stored(sent), "updated_at": analysis.next_updated_at(caller.now)}
        changed = Analysis.model_validate(after)
        await _check(changed, sent, unit.resources, definitions, caller)
        return Change(Action.UPDATE, analysis, changed)

    return plan


def _check_range(said: NewAnalysis | AnalysisPatch, caller: Caller) -> None:
    if said.date_range is not None:
        validate_date_range(said.date_range, caller, "analysis.date_range")


def _stored(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as the record names them; a text that is null is empty, a list that is null has nothing."""
    empty: Mapping[str, Any] = {**dict.fromkeys(_LISTS, ()), "title": "", "body_md": ""}
    fields = {name: empty.get(name) if value is None else value for name, value in sent.items()}
    if "title" in fields:
        fields["name"] = fields.pop("title")
    return fields


async def _check(
    analysis: Analysis,
    sent: Mapping[str, Any],
    records: RecordReader,
    definitions: DefinitionValidator,
    caller: Caller,
) -> None:
    validate_text("analysis.title", analysis.name, LONGEST_TITLE)
    validate_text("analysis.body_md", analysis.body_md, LONGEST_BODY)
    if "plans" in sent:
        _check_plans(analysis, definitions, caller)
    if "report_ids" in sent or "body_md" in sent:
        _check_listed(analysis)
    if "report_ids" in sent:
        await _check_live(analysis.report_ids, records)


def _check_plans(analysis: Analysis, definitions: DefinitionValidator, caller: Caller) -> None:
    if len(analysis.plans) > MOST_PLANS:
        raise Unprocessable(
            f"At most {MOST_PLANS} plans",
            "invalid_plan",
            field="analysis.plans",
            hint="Save some of them as reports.",
        )
    over = analysis.date_range or DEFAULT_RANGE
    for position, plan in enumerate(analysis.plans):
        definitions.validate_plan(plan, over, caller, f"analysis.plans[{position}]")


def _check_listed(analysis: Analysis) -> None:
    listed = {str(report_id) for report_id in analysis.report_ids}
    for name in embedded_report_ids(analysis.body_md):
        if name.lower() not in listed:
            raise Unprocessable(
                "The body embeds a report that report_ids does not list",
                "report_not_listed",
                field="analysis.report_ids",
                hint="Add the id of every ::report[…] line to report_ids.",
            )


async def _check_live(report_ids: Sequence[UUID], records: RecordReader) -> None:
    if len(report_ids) > MOST_REPORTS:
        raise Unprocessable(f"At most {MOST_REPORTS} reports", "invalid_field", field="analysis.report_ids")
    reports = await records.get_many(Report, report_ids)
    for position, report_id in enumerate(report_ids):
        if report_id not in reports:
            raise Unprocessable(
                "report_ids names a report that is not live",
                "unknown_report",
                field=f"analysis.report_ids[{position}]",
                hint="GET /reports lists the reports.",
            )
