"""How an analysis is made and changed."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born, live
from service_core.changes.ports import Transaction
from service_core.changes.resource import Records
from service_core.changes.write import Plan
from service_core.kernel.errors import Unprocessable
from service_core.workspace.analyses.bodies import AnalysisPatch, NewAnalysis
from service_core.workspace.analyses.model import Analysis, embedded
from service_core.workspace.refusals import check_current, check_range, check_text
from service_core.workspace.reports.definition import Definitions
from service_core.workspace.reports.model import USUAL_RANGE, Report

LONGEST_TITLE: Final = 200
LONGEST_BODY: Final = 100_000
MOST_PLANS: Final = 20
MOST_REPORTS: Final = 50
_LISTS: Final = ("plans", "report_ids")
_SAID: Final = ("title", "body_md", *_LISTS, "date_range")


def create(who: Caller, wanted: NewAnalysis, definitions: Definitions) -> Plan:
    """The plan of a new analysis.

    Raises:
        BadRequest: ``invalid_date_range``.
        Unprocessable: ``invalid_field``, ``invalid_plan``, ``unknown_metric``, ``report_not_listed``,
            ``unknown_report``.
    """
    _check_range(wanted, who)

    async def plan(unit: Transaction) -> Change:
        said = {name: getattr(wanted, name) for name in _SAID}
        analysis = Analysis(
            **born(who),
            **_stored(said),
        )
        await _check(analysis, said, unit.resources, definitions, who)
        return Change(Action.CREATE, None, analysis, ASSIGNED)

    return plan


def update(who: Caller, analysis_id: UUID, patch: AnalysisPatch, definitions: Definitions) -> Plan:
    """The plan of a changed analysis: only the fields sent change, and only they are checked.

    Raises:
        NotFound: the workspace has no such analysis.
        BadRequest: ``invalid_date_range``.
        Conflict: ``stale_update``.
        Unprocessable: as for a new one.
    """
    _check_range(patch, who)

    async def plan(unit: Transaction) -> Change:
        analysis = await live(unit.resources, Analysis, analysis_id)
        check_current(analysis, patch.expected_updated_at)
        sent = patch.sent()
        after = {**dict(analysis), **_stored(sent), "updated_at": analysis.changed_at(who.now)}
        changed = Analysis.model_validate(after)
        await _check(changed, sent, unit.resources, definitions, who)
        return Change(Action.UPDATE, analysis, changed)

    return plan


def _check_range(said: NewAnalysis | AnalysisPatch, who: Caller) -> None:
    if said.date_range is not None:
        check_range(said.date_range, who, "analysis.date_range")


def _stored(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as the record names them; a text that is null is empty, a list that is null has nothing."""
    empty: Mapping[str, Any] = {**dict.fromkeys(_LISTS, ()), "title": "", "body_md": ""}
    fields = {name: empty.get(name) if value is None else value for name, value in sent.items()}
    if "title" in fields:
        fields["name"] = fields.pop("title")
    return fields


async def _check(
    analysis: Analysis, sent: Mapping[str, Any], records: Records, definitions: Definitions, who: Caller
) -> None:
    check_text("analysis.title", analysis.name, LONGEST_TITLE)
    check_text("analysis.body_md", analysis.body_md, LONGEST_BODY)
    if "plans" in sent:
        _check_plans(analysis, definitions, who)
    if "report_ids" in sent or "body_md" in sent:
        _check_listed(analysis)
    if "report_ids" in sent:
        await _check_live(analysis.report_ids, records)


def _check_plans(analysis: Analysis, definitions: Definitions, who: Caller) -> None:
    if len(analysis.plans) > MOST_PLANS:
        raise Unprocessable(
            f"At most {MOST_PLANS} plans",
            "invalid_plan",
            field="analysis.plans",
            hint="Save some of them as reports.",
        )
    over = analysis.date_range or USUAL_RANGE
    for position, plan in enumerate(analysis.plans):
        definitions.check_plan(plan, over, who, f"analysis.plans[{position}]")


def _check_listed(analysis: Analysis) -> None:
    listed = {str(report_id) for report_id in analysis.report_ids}
    for name in embedded(analysis.body_md):
        if name.lower() not in listed:
            raise Unprocessable(
                "The body embeds a report that report_ids does not list",
                "report_not_listed",
                field="analysis.report_ids",
                hint="Add the id of every ::report[…] line to report_ids.",
            )


async def _check_live(report_ids: Sequence[UUID], records: Records) -> None:
    if len(report_ids) > MOST_REPORTS:
        raise Unprocessable(f"At most {MOST_REPORTS} reports", "invalid_field", field="analysis.report_ids")
    reports = await records.some(Report, report_ids)
    for position, report_id in enumerate(report_ids):
        if report_id not in reports:
            raise Unprocessable(
                "report_ids names a report that is not live",
                "unknown_report",
                field=f"analysis.report_ids[{position}]",
                hint="GET /reports lists the reports.",
            )
