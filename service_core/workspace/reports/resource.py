"""Saved reports as a writable resource."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.ports import EventReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.changes.optimistic_locking import VersionedBody, sent_fields
from service_core.changes.resource import ResourceType, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.operations import Scope
from service_core.workspace.event_name_effects import describe_names_never_seen
from service_core.workspace.reports.models import DEFAULT_RANGE, Report
from service_core.workspace.reports.operations import run_report
from service_core.workspace.reports.schemas import NewReport, ReportAnswer, ReportPatch, ReportsQuery
from service_core.workspace.reports.validate_definition import (
    DefinitionValidator,
    derive_kind_and_funnel_defaults,
)
from service_core.workspace.validation import load_saved_serializer, validate_date_range, validate_text

MAX_NAME_LENGTH: Final = 120
MAX_DESCRIPTION_LENGTH: Final = 2_000


def validate_range_and_build_validator(
    body: NewReport | ReportPatch, *, caller: Caller, queries: MetricQueries, models: AttributionModels
) -> DefinitionValidator:
    """Returns the checks of definitions, after checking the date range.

    Raises:
        BadRequest: ``invalid_date_range``.
    """
    if body.default_range is not None:
        validate_date_range(body.default_range, caller, "report.default_range")
    return DefinitionValidator(queries, models)


async def create_report(new: NewReport, write: WriteContext[DefinitionValidator]) -> Report:
    """Save a report: a metric of the catalog, a plan of `/query`, or a funnel.

    It is checked as if it were asked now; its `kind` follows from its definition.
    """
    fields = {name: value for name, value in new if name not in VersionedBody.model_fields}
    return _validate_and_complete_report({**fields, **write.new_fields()}, new.model_fields_set, write)


async def update_report(
    report: Report, patch: ReportPatch, write: WriteContext[DefinitionValidator]
) -> Report:
    """Change the fields sent; every dashboard that shows the report shows the new one."""
    sent = sent_fields(patch)
    updated_at = report.next_updated_at(write.caller.now)
    return _validate_and_complete_report({**dict(report), **sent, "updated_at": updated_at}, sent, write)


def _validate_and_complete_report(
    fields: Mapping[str, Any], sent: Collection[str], write: WriteContext[DefinitionValidator]
) -> Report:
    """Returns the report of these fields; null gives a field its default.

    Raises:
        Unprocessable: ``invalid_field``, and what `DefinitionValidator` and `derive_kind_and_funnel_defaults` refuse.
    """
    validate_text("report.name", fields["name"], MAX_NAME_LENGTH)
    validate_text("report.description", fields["description"], MAX_DESCRIPTION_LENGTH, min_length=0)
    completed = derive_kind_and_funnel_defaults(fields, sent)
    defaults = {
        "description": completed["description"] or None,
        "default_range": completed["default_range"] or DEFAULT_RANGE,
    }
    report = Report.model_validate({**completed, **defaults})
    write.prepared.validate_report(report, write.caller)
    return report


async def warn_of_events_never_seen(
    caller: Caller, new: State | None, *, event_reader: EventReader, providers: InstalledProviders
) -> Sequence[State]:
    """Returns an effect for each event of the funnel or the filters that was not seen in 90 days."""
    names = () if new is None else _list_event_names(new)
    return await describe_names_never_seen(
        caller, names, field="event_name", event_reader=event_reader, providers=providers
    )


def _list_event_names(new: State) -> list[str]:
    filters = (new["plan"] or {}).get("filters") or ()
    values = [
        value
        for each in filters
        if each["dimension"] == "event_name" and each.get("op", "eq") in {"eq", "in"}
        for value in (each["value"] if isinstance(each["value"], list) else [each["value"]])
    ]
    return [*(new["steps"] or ()), *(value for value in values if isinstance(value, str))]


REPORTS: Final = resource(
    ResourceType(
        Report,
        Scope.WRITE_REPORTS,
        serializer=load_saved_serializer,
        warnings=warn_of_events_never_seen,
    ),
    "/reports/{reportId}",
    listing=Listing("Saved reports, newest first.", query=ReportsQuery),
    get="One saved report.",
    create=create_report,
    update=update_report,
    delete="Hide a report; its cards stay on dashboards, and an undo brings it back under its id.",
    prepare=validate_range_and_build_validator,
    answer=ReportAnswer,
    operations=(run_report,),
    are_reads_aggregate=True,
)
