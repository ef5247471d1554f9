"""Results of shared objects for public pages, cached for a minute."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service_core.access.ports import CredentialStore
from service_core.changes.ports import Transactions
from service_core.kernel.clock import Clock
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import ApiError, NotFound
from service_core.workspace.analyses.run_analysis import AnalysisRun
from service_core.workspace.dashboards.run_dashboard import DashboardRun
from service_core.workspace.reports.models import Report
from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.share_links.access import SharedObject
from service_core.workspace.share_links.run_shared_object import SharedObjectRun, run_shared_object
from service_core.workspace.share_links.ttl_cache import TtlCache

RESULT_LIFETIME: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class SharedResult:
    """The result of a shared object.

    Attributes:
        computed_at: start of the run; pages rendered from the result can be cached by it and by the data version.
        data_version: changes when personal data was erased; see `CredentialStore.change_version`.
        run: None when it could not be run.
        reports: the live reports it shows, by id.
        error: why it could not be run.
    """

    computed_at: datetime
    data_version: int | None
    run: SharedObjectRun | None
    reports: Mapping[UUID, Report] = field(default_factory=dict)
    error: str | None = None


class SharedResults:
    """Runs shared objects, each at most once a minute, and again at once after an erasure in any process.

    Args:
        transactions: reads the objects.
        runner: runs their reports.
        credentials: reports changes; a completed erasure is one of them.
        clock: returns the present.
    """

    def __init__(
        self,
        transactions: Transactions,
        runner: ReportBatchRunner,
        credentials: CredentialStore,
        clock: Clock,
    ) -> None:
        self._transactions = transactions
        self._runner = runner
        self._credentials = credentials
        self._clock = clock
        self._cache = TtlCache[tuple[UUID, int | None, str | None], SharedResult](RESULT_LIFETIME, clock)

    async def get_result_at_most_a_minute_old(
        self, shared_object: SharedObject, preset: str | None = None
    ) -> SharedResult:
        """Returns the result of an object, at most a minute old.

        Args:
            shared_object: what to run.
            preset: a range that its link allows; None for the saved one.

        Raises:
            NotFound: the object was deleted.
        """
        version = self._credentials.change_version()

        async def run_again() -> SharedResult:
            return await self._run_and_load_reports(shared_object, version, preset)

        return await self._cache.get_or_compute((shared_object.record.id, version, preset), run_again)

    async def _run_and_load_reports(
        self, shared_object: SharedObject, data_version: int | None, preset: str | None
    ) -> SharedResult:
        workspace, link, now = shared_object.workspace, shared_object.link, self._clock()
        try:
            run = await run_shared_object(
                workspace,
                now,
                link.object_type,
                link.object_id,
                transactions=self._transactions,
                runner=self._runner,
                date_range=DateRange(preset=preset) if preset else None,
            )
        except ApiError as refusal:
            return SharedResult(now, data_version, None, error=refusal.message)
        if run is None:
            raise NotFound
        async with self._transactions.read(workspace.id) as transaction:
            reports = await transaction.resources.get_many(Report, _report_ids(run))
        return SharedResult(now, data_version, run, reports)


def _report_ids(run: SharedObjectRun) -> list[UUID]:
    if isinstance(run, DashboardRun):
        return [card.report_id for card in run.cards]
    if isinstance(run, AnalysisRun):
        return [outcome.report_id for outcome in run.embeds]
    return [run.report.id]
