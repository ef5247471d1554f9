"""E-mail reports as a writable resource."""

from collections.abc import Sequence
from typing import Any, Final

from service_core.access.workspace_cache import WorkspaceCache
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.resource import RecordReader, ResourceType, Serializer, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.email_reports.models import EmailedObjectType, EmailReport
from service_core.workspace.email_reports.operations import (
    list_email_report_deliveries,
    send_test_email,
)
from service_core.workspace.email_reports.schedule import next_due_at
from service_core.workspace.email_reports.schemas import EmailReportAnswer, EmailReportPatch, NewEmailReport
from service_core.workspace.notifications.recipients import normalize_recipients
from service_core.workspace.reports.models import Report
from service_core.workspace.validation import validate_text

MAX_NAME_LENGTH: Final = 120
EMAILED_TYPES: Final[dict[EmailedObjectType, type[Report] | type[Dashboard]]] = {
    "report": Report,
    "dashboard": Dashboard,
}


async def create_email_report(new: NewEmailReport, write: WriteContext[None]) -> EmailReport:
    """Send a report or dashboard by e-mail every week or month, with its own range as of that moment.

    Recipients who are not members get one e-mail in which they confirm their address, and nothing before that.
    """
    if await write.records.get(EMAILED_TYPES[new.object_type], new.object_id) is None:
        raise Unprocessable(
            "There is no such object", "unknown_object", field="email_report.object_id",
            hint="GET /reports and GET /dashboards list them.",
        )  # fmt: skip
    return _validated_email_report(EmailReport(**write.new_fields(), **dict(new)))


async def update_email_report(
    email_report: EmailReport, patch: EmailReportPatch, write: WriteContext[None]
) -> EmailReport:
    """Change the fields sent. Recipients who unsubscribed stay unsubscribed."""
    sent: dict[str, Any] = {name: value for name, value in sent_fields(patch).items() if value is not None}
    defaults = {"weekday": email_report.weekday or "monday", "day_of_month": email_report.day_of_month or 1}
    return _validated_email_report(email_report.with_fields(write.caller.now, **{**defaults, **sent}))


def _validated_email_report(email_report: EmailReport) -> EmailReport:
    """Returns the e-mail report with normalized recipients and without the day that its frequency does not use.

    Raises:
        Unprocessable: ``invalid_field``.
    """
    validate_text("email_report.name", email_report.name, MAX_NAME_LENGTH)
    is_weekly = email_report.frequency == "weekly"
    return email_report.model_copy(
        update={
            "recipients": normalize_recipients(email_report.recipients, "email_report.recipients"),
            "weekday": email_report.weekday if is_weekly else None,
            "day_of_month": None if is_weekly else email_report.day_of_month,
        }
    )


async def load_email_report_serializer(
    _: RecordReader, email_reports: Sequence[EmailReport], *, workspaces: WorkspaceCache, clock: Clock
) -> Serializer:
    """Returns how e-mail reports are shown: with the time of their next e-mail."""
    now, next_at = clock(), dict[str, str]()
    for email_report in email_reports:
        workspace = await workspaces.find_by_id(email_report.workspace_id)
        if workspace is not None and email_report.active:
            next_at[str(email_report.id)] = format_timestamp(next_due_at(email_report, now, workspace.zone))
    return lambda state: {**state, "next_at": next_at.get(state["id"] or ""), "deleted_at": None}


async def describe_email_effect(_: RecordReader, prior: State | None, new: State | None) -> Sequence[State]:
    """Returns to how many recipients the change starts or stops e-mails."""
    state = new or prior or {}
    count, is_sent = len(state["recipients"]), bool(new and new["active"])
    people = "1 recipient" if count == 1 else f"{count} recipients"
    how_often = "every week" if state["frequency"] == "weekly" else "every month"
    summary = (
        f"'{state['name']}' is mailed to {people} {how_often}"
        if is_sent
        else f"'{state['name']}' is not mailed"
    )
    return ({"type": "email_report", "summary": summary, "operation": "put" if is_sent else "delete"},)


EMAIL_REPORTS: Final = resource(
    ResourceType(
        EmailReport,
        Scope.WRITE_REPORTS,
        effects=describe_email_effect,
        outside_effects=frozenset({"email_report"}),
        serializer=load_email_report_serializer,
    ),
    "/email-reports/{emailReportId}",
    listing=Listing("Scheduled e-mails of reports and dashboards, newest first."),
    get="One scheduled e-mail.",
    create=create_email_report,
    update=update_email_report,
    delete="Stop a scheduled e-mail; an undo brings it back under its id.",
    answer=EmailReportAnswer,
    operations=(list_email_report_deliveries, send_test_email),
)
