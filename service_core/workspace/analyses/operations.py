"""`/analyses` (contract 5.7)."""

from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.query.service import MetricQueries
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.operations import DryRunBody, DryRunQuery, requested_dry_run
from service_core.changes.pagination import ListQuery, paginate_records
from service_core.changes.record_plans import get_or_404, plan_delete
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.analyses.models import Analysis
from service_core.workspace.analyses.plan import create, update
from service_core.workspace.analyses.resource import shown
from service_core.workspace.analyses.schemas import CreateAnalysis, UpdateAnalysis
from service_core.workspace.reports.validate_definition import DefinitionValidator


class AnalysisAnswer(Analysis):
    """An analysis."""

    deleted_at: None = Field(description="Null: a deleted analysis is not found.")


class AnalysisPage(ResponseModel):
    """Analyses, newest first."""

    analyses: list[AnalysisAnswer]
    next_cursor: str | None


class AnalysisPath(BaseModel):
    """Which analysis."""

    analysisId: UUID  # noqa: N815 - as in the path


@operation("GET /analyses", tag="analyses")
async def list_analyses(query: ListQuery, *, caller: Caller, writes: ChangeExecutor) -> AnalysisPage:
    """Analyses, newest first."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        page, following = await paginate_records(unit.resources, Analysis, query, caller)
    return AnalysisPage(analyses=[_answer(one) for one in page], next_cursor=following)


@operation("GET /analyses/{analysisId}", tag="analyses")
async def get_analysis(path: AnalysisPath, *, caller: Caller, writes: ChangeExecutor) -> AnalysisAnswer:
    """One analysis."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        return _answer(await get_or_404(unit.resources, Analysis, path.analysisId))


@operation(
    "POST /analyses",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="analyses",
    errors=(409, 422),
    idempotent=True,
)
async def create_analysis(
    body: CreateAnalysis,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    questions: MetricQueries,
    models: AttributionModels,
) -> HandlerResponse[Envelope]:
    """Write an analysis in Markdown; a line `::report[<report_id>]` embeds a report that is listed."""
    plan = create(caller, body.analysis, DefinitionValidator(questions, models))
    return await writes.execute(caller, plan, dry_run=body.dry_run)


@operation(
    "PATCH /analyses/{analysisId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="analyses",
    errors=(409, 422),
)
async def update_analysis(
    path: AnalysisPath,
    body: UpdateAnalysis,
    *,
    caller: Caller,
    writes: ChangeExecutor,
    questions: MetricQueries,
    models: AttributionModels,
) -> HandlerResponse[Envelope]:
    """Change the fields sent."""
    plan = update(caller, path.analysisId, body.analysis, DefinitionValidator(questions, models))
    return await writes.execute(caller, plan, dry_run=body.dry_run)


@operation(
    "DELETE /analyses/{analysisId}",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="analyses",
    errors=(409,),
    body_optional=True,
)
async def delete_analysis(
    path: AnalysisPath, query: DryRunQuery, body: DryRunBody, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Hide an analysis; an undo brings it back under its id."""
    return await writes.execute(
        caller, plan_delete(Analysis, path.analysisId), dry_run=requested_dry_run(query, body)
    )


def _answer(analysis: Analysis) -> AnalysisAnswer:
    return AnalysisAnswer.model_validate(shown(analysis.state))


OPERATIONS = (list_analyses, get_analysis, create_analysis, update_analysis, delete_analysis)
