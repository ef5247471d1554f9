"""Analyses as a writable resource."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.pagination import ListQuery
from service_core.changes.resource import RecordReader, ResourceType
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.analyses.models import Analysis, embedded_report_ids
from service_core.workspace.analyses.schemas import AnalysisAnswer, AnalysisPatch, NewAnalysis
from service_core.workspace.reports.models import DEFAULT_RANGE, Report
from service_core.workspace.reports.validate_definition import DefinitionValidator
from service_core.workspace.validation import load_saved_serializer, validate_date_range, validate_text

MAX_TITLE_LENGTH: Final = 200
MAX_BODY_LENGTH: Final = 100_000
MAX_PLANS: Final = 20
MAX_REPORTS: Final = 50
_FIELDS: Final = ("title", "body_md", "plans", "report_ids", "date_range")
_EMPTY_VALUES: Final[Mapping[str, Any]] = {"title": "", "body_md": "", "plans": (), "report_ids": ()}


def validate_range_and_build_validator(
    body: NewAnalysis | AnalysisPatch, *, caller: Caller, queries: MetricQueries, models: AttributionModels
) -> DefinitionValidator:
    """Returns the checks of query plans, after checking the date range.

    Raises:
        BadRequest: ``invalid_date_range``.
    """
    if body.date_range is not None:
        validate_date_range(body.date_range, caller, "analysis.date_range")
    return DefinitionValidator(queries, models)


async def create_analysis(new: NewAnalysis, write: WriteContext[DefinitionValidator]) -> Analysis:
    """Write an analysis in Markdown; a line `::report[<report_id>]` embeds a report that is listed."""
    sent = {name: getattr(new, name) for name in _FIELDS}
    analysis = Analysis(**write.new_fields(), **_to_record_fields(sent))
    await _validate_sent_fields(analysis, sent, write)
    return analysis


async def update_analysis(
    analysis: Analysis, patch: AnalysisPatch, write: WriteContext[DefinitionValidator]
) -> Analysis:
    """Change the fields sent."""
    sent = sent_fields(patch)
    changed = analysis.with_fields(write.caller.now, **_to_record_fields(sent))
    await _validate_sent_fields(changed, sent, write)
    return changed


def _to_record_fields(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields as the record names them; a null text or list is stored as an empty one."""
    fields = {name: _EMPTY_VALUES.get(name) if value is None else value for name, value in sent.items()}
    if "title" in fields:
        fields["name"] = fields.pop("title")
    return fields


async def _validate_sent_fields(
    analysis: Analysis, sent: Mapping[str, Any], write: WriteContext[DefinitionValidator]
) -> None:
    validate_text("analysis.title", analysis.name, MAX_TITLE_LENGTH)
    validate_text("analysis.body_md", analysis.body_md, MAX_BODY_LENGTH)
    if "plans" in sent:
        _validate_plans(analysis, write)
    if "report_ids" in sent or "body_md" in sent:
        _refuse_embeds_not_listed(analysis)
    if "report_ids" in sent:
        await _validate_report_ids(analysis.report_ids, write.records)


def _validate_plans(analysis: Analysis, write: WriteContext[DefinitionValidator]) -> None:
    if len(analysis.plans) > MAX_PLANS:
        raise Unprocessable(
            f"At most {MAX_PLANS} plans",
            "invalid_plan",
            field="analysis.plans",
            hint="Save some of them as reports.",
        )
    date_range = analysis.date_range or DEFAULT_RANGE
    for position, plan in enumerate(analysis.plans):
        write.prepared.validate_plan(plan, date_range, write.caller, f"analysis.plans[{position}]")


def _refuse_embeds_not_listed(analysis: Analysis) -> None:
    """Refuses a body that embeds a report which is not listed."""
    listed = {str(report_id) for report_id in analysis.report_ids}
    for report_id in embedded_report_ids(analysis.body_md):
        if report_id.lower() not in listed:
            raise Unprocessable(
                "The body embeds a report that report_ids does not list",
                "report_not_listed",
                field="analysis.report_ids",
                hint="Add the id of every ::report[…] line to report_ids.",
            )


async def _validate_report_ids(report_ids: Sequence[UUID], records: RecordReader) -> None:
    """Refuses ids of reports that do not exist or were deleted."""
    if len(report_ids) > MAX_REPORTS:
        raise Unprocessable(f"At most {MAX_REPORTS} reports", "invalid_field", field="analysis.report_ids")
    reports = await records.get_many(Report, report_ids)
    for position, report_id in enumerate(report_ids):
        if report_id not in reports:
            raise Unprocessable(
                "report_ids names a report that is not live",
                "unknown_report",
                field=f"analysis.report_ids[{position}]",
                hint="GET /reports lists the reports.",
            )


ANALYSES: Final = resource(
    ResourceType(Analysis, Scope.WRITE_REPORTS, serializer=load_saved_serializer),
    "/analyses/{analysisId}",
    listing=Listing("Analyses, newest first.", query=ListQuery),
    get="One analysis.",
    create=create_analysis,
    update=update_analysis,
    delete="Hide an analysis; an undo brings it back under its id.",
    prepare=validate_range_and_build_validator,
    answer=AnalysisAnswer,
    are_reads_aggregate=True,
)
