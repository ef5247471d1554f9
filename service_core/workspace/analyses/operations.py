"""`/analyses` (contract 5.7)."""

from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.model import Caller
from service_core.changes.envelope import Envelope
from service_core.changes.listing import ListQuery, page_of
from service_core.changes.operations import DryRunBody, DryRunQuery, dry_run_of
from service_core.changes.plan import deletion, live
from service_core.changes.write import Writes
from service_core.insight.attribution.model import Models
from service_core.insight.query.questions import Questions
from service_core.kernel.operations import Budget, Reply, Scope, operation
from service_core.kernel.params import Answer
from service_core.workspace.analyses.bodies import CreateAnalysis, UpdateAnalysis
from service_core.workspace.analyses.model import Analysis
from service_core.workspace.analyses.plan import create, update
from service_core.workspace.analyses.resource import shown
from service_core.workspace.reports.definition import Definitions


class AnalysisAnswer(Analysis):
    """An analysis."""

    deleted_at: None = Field(description="Null: a deleted analysis is not found.")


class AnalysisPage(Answer):
    """Analyses, newest first."""

    analyses: list[AnalysisAnswer]
    next_cursor: str | None


class AnalysisPath(BaseModel):
    """Which analysis."""

    analysisId: UUID  # noqa: N815 - as in the path


@operation("GET /analyses", tag="analyses")
async def list_analyses(query: ListQuery, *, who: Caller, writes: Writes) -> AnalysisPage:
    """Analyses, newest first."""
    async with writes.units.look(who.workspace.id) as unit:
        page, following = await page_of(unit.resources, Analysis, query, who)
    return AnalysisPage(analyses=[_answer(one) for one in page], next_cursor=following)


@operation("GET /analyses/{analysisId}", tag="analyses")
async def get_analysis(path: AnalysisPath, *, who: Caller, writes: Writes) -> AnalysisAnswer:
    """One analysis."""
    async with writes.units.look(who.workspace.id) as unit:
        return _answer(await live(unit.resources, Analysis, path.analysisId))


@operation(
    "POST /analyses",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="analyses",
    errors=(409, 422),
    replays=True,
)
async def create_analysis(
    body: CreateAnalysis, *, who: Caller, writes: Writes, questions: Questions, models: Models
) -> Reply[Envelope]:
    """Write an analysis in Markdown; a line `::report[<report_id>]` embeds a report that is listed."""
    plan = create(who, body.analysis, Definitions(questions, models))
    return await writes.run(who, plan, dry_run=body.dry_run)


@operation(
    "PATCH /analyses/{analysisId}",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="analyses",
    errors=(409, 422),
)
async def update_analysis(
    path: AnalysisPath,
    body: UpdateAnalysis,
    *,
    who: Caller,
    writes: Writes,
    questions: Questions,
    models: Models,
) -> Reply[Envelope]:
    """Change the fields sent."""
    plan = update(who, path.analysisId, body.analysis, Definitions(questions, models))
    return await writes.run(who, plan, dry_run=body.dry_run)


@operation(
    "DELETE /analyses/{analysisId}",
    scope=Scope.WRITE_REPORTS,
    budget=Budget.MUTATION,
    tag="analyses",
    errors=(409,),
    body_optional=True,
)
async def delete_analysis(
    path: AnalysisPath, query: DryRunQuery, body: DryRunBody, *, who: Caller, writes: Writes
) -> Reply[Envelope]:
    """Hide an analysis; an undo brings it back under its id."""
    return await writes.run(who, deletion(Analysis, path.analysisId), dry_run=dry_run_of(query, body))


def _answer(analysis: Analysis) -> AnalysisAnswer:
    return AnalysisAnswer.model_validate(shown(analysis.state))


OPERATIONS = (list_analyses, get_analysis, create_analysis, update_analysis, delete_analysis)
