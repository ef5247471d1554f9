"""Reports that can be run: one that was deleted is not among them."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from service_core.changes.resource import Records
from service_core.workspace.reports.model import Report

Reports = Mapping[UUID, Report]
"""Live reports by id."""


async def live_reports(records: Records, report_ids: Iterable[UUID]) -> Reports:
    """Those of the reports that are live."""
    found = [await records.get(Report, report_id) for report_id in dict.fromkeys(report_ids)]
    return {report.id: report for report in found if report is not None}
