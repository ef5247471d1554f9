"""Alerts as a writable resource."""

from collections.abc import Sequence
from typing import Any, Final

from service_core.access.models import Caller
from service_core.analytics.query import schemas
from service_core.analytics.query.catalog import Catalog
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.resource import RecordReader, ResourceType, Serializer, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.alerts.models import Alert
from service_core.workspace.alerts.operations import (
    list_alert_deliveries,
    refuse_former_alert_secret,
    rotate_webhook_secret,
)
from service_core.workspace.alerts.ports import AlertStates
from service_core.workspace.alerts.schemas import AlertAnswer, AlertCheck, AlertPatch, NewAlert
from service_core.workspace.notifications.recipients import normalize_recipients
from service_core.workspace.url_rules import validate_public_url
from service_core.workspace.validation import bad_request_as_unprocessable, validate_text

MAX_NAME_LENGTH: Final = 120
_NULLABLE: Final = ("value", "webhook_url")


def catalog_for_validation(
    body: NewAlert | AlertPatch,  # noqa: ARG001 - as `resource` calls it
    *,
    caller: Caller,  # noqa: ARG001 - likewise
    catalog: Catalog,
) -> Catalog:
    """Returns the catalog that metrics and filters are checked with."""
    return catalog


async def create_alert(new: NewAlert, write: WriteContext[Catalog]) -> Alert:
    """Report a metric that is above or below a value, or unusual, after each day or week.

    Unusual is a value more than 3 usual deviations away from the median of the same weekday of the last 8 weeks (or of
    the last 8 weeks). An alert is sent once while it lasts.
    """
    return _validated_alert(Alert(**write.new_fields(), **dict(new), webhook_version=1), write.prepared)


async def update_alert(alert: Alert, patch: AlertPatch, write: WriteContext[Catalog]) -> Alert:
    """Change the fields sent."""
    sent: dict[str, Any] = {
        name: value for name, value in sent_fields(patch).items() if value is not None or name in _NULLABLE
    }
    return _validated_alert(alert.with_fields(write.caller.now, **sent), write.prepared)


def _validated_alert(alert: Alert, catalog: Catalog) -> Alert:
    """Returns the alert with normalized recipients, and without the value that an unusual one does not use.

    Raises:
        Unprocessable: ``unknown_metric``, ``invalid_filter`` or ``invalid_field``.
    """
    validate_text("alert.name", alert.name, MAX_NAME_LENGTH)
    if alert.metric_id not in catalog.metrics:
        raise Unprocessable("There is no such metric", "unknown_metric", field="alert.metric_id")
    with bad_request_as_unprocessable("alert", "invalid_filter"):
        schemas.parse_filters_accepted_by_metrics(catalog, (alert.metric_id,), alert.filters)
    is_unusual = alert.condition == "unusual"
    if not is_unusual and alert.value is None:
        raise Unprocessable(f"`{alert.condition}` needs a value", "invalid_field", field="alert.value")
    recipients = normalize_recipients(alert.recipients, "alert.recipients", may_be_empty=True)
    _validate_targets(alert)
    return alert.model_copy(update={"recipients": recipients, "value": None if is_unusual else alert.value})


def _validate_targets(alert: Alert) -> None:
    """Refuses an alert that reaches nobody, and a webhook that leads to a private host."""
    if not alert.recipients and alert.webhook_url is None:
        raise Unprocessable(
            "An alert needs a recipient or a webhook", "invalid_field", field="alert.recipients"
        )
    if alert.webhook_url is not None:
        validate_public_url("webhook_url", alert.webhook_url, frozenset({"https"}), parent_field="alert")


async def load_alert_serializer(
    _: RecordReader, alerts: Sequence[Alert], *, states: AlertStates
) -> Serializer:
    """Returns how alerts are shown: with the result of their latest check."""
    found = await states.get_states([alert.id for alert in alerts])
    checks = {str(id_): AlertCheck.from_state(state).model_dump(mode="json") for id_, state in found.items()}
    return lambda state: {**state, "check": checks.get(state["id"] or ""), "deleted_at": None}


async def describe_alert_effect(_: RecordReader, prior: State | None, new: State | None) -> Sequence[State]:
    """Returns whom the change of an alert reaches."""
    state = new or prior or {}
    targets = len(state["recipients"]) + (state["webhook_url"] is not None)
    targets_text = "1 target" if targets == 1 else f"{targets} targets"
    is_sent = bool(new and new["active"])
    summary = f"'{state['name']}' is sent to {targets_text}" if is_sent else f"'{state['name']}' is not sent"
    return ({"type": "alert", "summary": summary, "operation": "put" if is_sent else "delete"},)


ALERTS: Final = resource(
    ResourceType(
        Alert,
        Scope.WRITE_REPORTS,
        effects=describe_alert_effect,
        outside_effects=frozenset({"alert"}),
        irreversible_fields=frozenset({"webhook_version"}),
        serializer=load_alert_serializer,
        check_permitted=refuse_former_alert_secret,
    ),
    "/alerts/{alertId}",
    listing=Listing("Alerts with their latest check, newest first."),
    get="One alert with its latest check.",
    create=create_alert,
    update=update_alert,
    delete="Delete an alert; an undo brings it back under its id.",
    prepare=catalog_for_validation,
    answer=AlertAnswer,
    operations=(list_alert_deliveries, rotate_webhook_secret),
)
