"""Running what an analysis embeds."""

from uuid import UUID

from service_core.access.model import Caller
from service_core.kernel.params import Answer
from service_core.workspace.analyses.model import Analysis, embedded
from service_core.workspace.cards import CardRuns, Outcome, Wanted
from service_core.workspace.reports.model import Reports


class AnalysisRun(Answer):
    """An analysis with the reports its body embeds, each run once.

    Attributes:
        embeds: in the order of the body; those deleted since are ``missing``.
        partial: something of an embedded report is not known.
    """

    analysis_id: UUID
    title: str
    body_md: str
    embeds: list[Outcome]
    partial: bool


async def run_analysis(who: Caller, analysis: Analysis, reports: Reports, runs: CardRuns) -> AnalysisRun:
    """Run the embedded reports within one budget, over the analysis's range or else their own."""
    ids = dict.fromkeys(UUID(name) for name in embedded(analysis.body_md))
    wanted = [Wanted(report_id, reports.get(report_id), analysis.date_range) for report_id in ids]
    outcomes = await runs.run(who, wanted)
    return AnalysisRun(
        analysis_id=analysis.id,
        title=analysis.name,
        body_md=analysis.body_md,
        embeds=outcomes,
        partial=not all(outcome.is_known for outcome in outcomes),
    )
