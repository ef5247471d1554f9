"""What a public page shows: the answers of its object, at most a minute old (contract 5.8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service_core.changes.ports import Units
from service_core.kernel.clock import Clock
from service_core.kernel.errors import NotFound, Refusal
from service_core.workspace.analyses.run import AnalysisRun
from service_core.workspace.cards import CardRuns
from service_core.workspace.dashboards.run import DashboardRun
from service_core.workspace.public import Run, run_object
from service_core.workspace.reports.model import Report
from service_core.workspace.share_links.cache import Cache
from service_core.workspace.share_links.gate import Publication

KEPT: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Found:
    """The answers of an object.

    Attributes:
        since: when they were asked for; what is made of them may be kept under it.
        run: None when it could not be run.
        reports: the live reports it shows, by their id.
        wrong: why it could not be run.
    """

    since: datetime
    run: Run | None
    reports: Mapping[UUID, Report] = field(default_factory=dict)
    wrong: str | None = None


class PublicAnswers:
    """Runs published objects, each at most once a minute, however many people look.

    Args:
        units: reads them.
        runs: runs the reports they show.
        clock: gives the present.
    """

    def __init__(self, units: Units, runs: CardRuns, clock: Clock) -> None:
        self._units = units
        self._runs = runs
        self._clock = clock
        self._cache = Cache[UUID, Found](KEPT, clock)

    async def of(self, publication: Publication) -> Found:
        """The answers of an object.

        Raises:
            NotFound: it was deleted a moment ago.
        """

        async def ask() -> Found:
            return await self._found(publication)

        return await self._cache.get(publication.subject.id, ask)

    async def _found(self, publication: Publication) -> Found:
        workspace, link, now = publication.workspace, publication.link, self._clock()
        try:
            run = await run_object(
                workspace,
                now,
                link.object_type,
                link.object_id,
                units=self._units,
                runs=self._runs,
            )
        except Refusal as refusal:
            return Found(now, None, wrong=refusal.message)
        if run is None:
            raise NotFound
        async with self._units.look(workspace.id) as unit:
            reports = await unit.resources.some(Report, _reports_of(run))
        return Found(now, run, reports)


def _reports_of(run: Run) -> list[UUID]:
    if isinstance(run, DashboardRun):
        return [card.report_id for card in run.cards]
    if isinstance(run, AnalysisRun):
        return [outcome.report_id for outcome in run.embeds]
    return [run.report.id]
