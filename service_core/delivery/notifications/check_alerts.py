"""Checks alerts after each complete day or week, and puts those that begin or end to fire into the outbox."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore
from service_core.access.public_urls import PublicUrls
from service_core.analytics.query.catalog import Catalog, MetricUnit
from service_core.analytics.reads.query.operations import post_query
from service_core.analytics.reads.query.schemas import QueryRequest
from service_core.changes.ports import Transactions
from service_core.delivery.notifications.alert_text import describe_fired_alert, describe_resolved_alert
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import ApiError
from service_core.kernel.timestamps import format_timestamp
from service_core.kernel.wall_clock import day_start, local_date
from service_core.workspace.alerts.evaluate import COMPARED_PERIODS, Evaluation, evaluate_alert_value
from service_core.workspace.alerts.models import Alert, AlertState, AlertStatus
from service_core.workspace.alerts.ports import AlertStates
from service_core.workspace.notifications.models import (
    CONFIRM_OCCURRENCE,
    RESOLVED_SUFFIX,
    Channel,
    Notification,
)
from service_core.workspace.notifications.ports import NotificationOutbox
from service_core.workspace.notifications.recipients import RecipientStatus, RecipientStatuses
from service_core.workspace.reports.run_report import ReportRunner

CHECK_DELAY: Final = timedelta(hours=1)
"""How long after the end of a period it is checked, so that late events are counted."""

RECHECK_INTERVAL: Final = timedelta(minutes=15)
"""Pause before an alert that could not be checked is checked again."""

FIRED_EVENT: Final = "alert.fired"
RESOLVED_EVENT: Final = "alert.resolved"
_WEEK: Final = timedelta(days=7)
_DAY: Final = timedelta(days=1)

_log: Final = logging.getLogger("touchpoint.alerts")


@dataclass(frozen=True, slots=True)
class AlertChecker:
    """Checks the alerts of every workspace. Two processes that check the same period send it once.

    Attributes:
        workspaces: the workspaces.
        transactions: reads the alerts.
        reports: reads metrics.
        states: what earlier checks found.
        statuses: who gets e-mails.
        outbox: keeps what is to be sent.
        urls: addresses of the web application.
        catalog: names and units of metrics.
    """

    workspaces: CredentialStore
    transactions: Transactions
    reports: ReportRunner
    states: AlertStates
    statuses: RecipientStatuses
    outbox: NotificationOutbox
    urls: PublicUrls
    catalog: Catalog

    async def check_due_alerts(self, now: datetime) -> int:
        """Returns how many alerts were checked; one that cannot be read is kept as unknown.

        Raises:
            StoreUnavailable: alerts or states cannot be read or kept; the next run continues.
        """
        checked = 0
        for workspace in await self.workspaces.list_workspaces():
            if workspace.active:
                checked += await self._check_due_alerts_of_workspace(workspace, now)
        return checked

    async def _check_due_alerts_of_workspace(self, workspace: Workspace, now: datetime) -> int:
        async with self.transactions.read(workspace.id) as transaction:
            alerts = [one for one in await transaction.resources.list_all(Alert) if one.active]
        states, checked = await self.states.get_states([alert.id for alert in alerts]), 0
        for alert in alerts:
            await self._queue_confirmations(alert, now)
            first_day = last_complete_period(alert, now, workspace)
            if _is_due(states.get(alert.id), day_start(first_day, workspace.zone), now, alert):
                await self._evaluate_and_save_state(workspace, alert, first_day, states.get(alert.id), now)
                checked += 1
        return checked

    async def _evaluate_and_save_state(
        self, workspace: Workspace, alert: Alert, first_day: date, before: AlertState | None, now: datetime
    ) -> None:
        value, evaluation = await self._read_value_and_evaluate(workspace, alert, first_day, now)
        was_firing = before is not None and before.is_firing
        is_unknown = evaluation.status is AlertStatus.UNKNOWN
        state = AlertState(
            alert_id=alert.id,
            status=evaluation.status,
            checked_at=now,
            checked_period=day_start(first_day, workspace.zone),
            is_firing=was_firing if is_unknown else evaluation.status is AlertStatus.FIRING,
            value=value,
            low=evaluation.low,
            high=evaluation.high,
            reason=evaluation.reason or None,
        )
        if state.is_firing != was_firing:
            await self._queue_change(workspace, alert, state, first_day, now)
        await self.states.save_state(state)

    async def _read_value_and_evaluate(
        self, workspace: Workspace, alert: Alert, first_day: date, now: datetime
    ) -> tuple[float | None, Evaluation]:
        """Returns the value of the period and what it means; a failed read is unknown."""
        try:
            values = await self._read_values(workspace, alert, first_day, now)
        except ApiError as refusal:
            return None, Evaluation(AlertStatus.UNKNOWN, reason=refusal.message)
        except Exception as fault:  # noqa: BLE001 - one alert that cannot be read must not end the others
            _log.exception("alert %s could not be checked", alert.id)
            return None, Evaluation(AlertStatus.UNKNOWN, reason=type(fault).__name__)
        value = values.get(first_day)
        earlier = [values.get(first_day - _WEEK * back) for back in range(COMPARED_PERIODS, 0, -1)]
        metric = self.catalog.metrics.get(alert.metric_id)
        is_count = metric is not None and metric.unit is MetricUnit.COUNT
        return value, evaluate_alert_value(alert, value, earlier, is_count=is_count)

    async def _read_values(
        self, workspace: Workspace, alert: Alert, first_day: date, now: datetime
    ) -> Mapping[date, float | None]:
        """Returns the values of the metric by the first day of each period; unknown ones are None or left out.

        Raises:
            ApiError: the metric cannot be read.
        """
        last_day = first_day + (_DAY * 6 if alert.period == "week" else timedelta())
        request = QueryRequest(
            metrics=[alert.metric_id],
            interval=alert.period,
            filters=list(alert.filters),
            date_range=DateRange(
                from_=(first_day - _WEEK * COMPARED_PERIODS).isoformat(), to=last_day.isoformat()
            ),
            limit=1000,
        )
        runner = self.reports.for_one_request()
        answer = await post_query(
            request,
            caller=build_unlimited_read_only_caller(workspace, now, "Alert"),
            queries=runner.queries,
            models=runner.models,
            event_reader=runner.event_reader,
        )
        if answer.meta.unavailable or not answer.meta.complete:
            return {}
        return {
            local_date(row["bucket"], workspace.zone): row[alert.metric_id]
            for row in answer.rows
            if isinstance(row, dict)
        }

    async def _queue_change(
        self, workspace: Workspace, alert: Alert, state: AlertState, first_day: date, now: datetime
    ) -> None:
        """Puts an alert that began or ended to fire into the outbox for each of its targets."""
        statuses = await self.statuses.get_statuses(workspace.id, alert.id, alert.recipients)
        url = f"{self.urls.web_url}/w/{workspace.public_id}/alerts/{alert.id}"
        metric = self.catalog.metrics.get(alert.metric_id)
        describe = describe_fired_alert if state.is_firing else describe_resolved_alert
        text = describe(workspace, alert, metric, state, first_day, url=url)
        targets = [(Channel.EMAIL, email, text) for email, status in statuses.items() if status.is_sendable]
        if alert.webhook_url is not None:
            body = json.dumps(_webhook_body(workspace, alert, state, first_day, url))
            targets.append((Channel.WEBHOOK, alert.webhook_url, body))
        occurrence = first_day.isoformat() + ("" if state.is_firing else RESOLVED_SUFFIX)
        await self.outbox.add_notifications_if_absent(
            [
                _build_notification(alert, channel, target, occurrence, now, payload=payload)
                for channel, target, payload in targets
            ]
        )

    async def _queue_confirmations(self, alert: Alert, now: datetime) -> None:
        """Asks recipients who are not members to confirm their address, each once."""
        if not alert.recipients:
            return
        statuses = await self.statuses.get_statuses(alert.workspace_id, alert.id, alert.recipients)
        wanted = [
            _build_notification(alert, Channel.EMAIL, email, CONFIRM_OCCURRENCE, now)
            for email, status in statuses.items()
            if status is RecipientStatus.UNCONFIRMED
        ]
        if wanted:
            await self.outbox.add_notifications_if_absent(wanted)


def last_complete_period(alert: Alert, now: datetime, workspace: Workspace) -> date:
    """Returns the first day of the latest local day or week that ended an hour ago or earlier."""
    today = local_date(now - CHECK_DELAY, workspace.zone)
    if alert.period == "day":
        return today - _DAY
    return today - timedelta(days=today.weekday() + 7)


def _webhook_body(
    workspace: Workspace, alert: Alert, state: AlertState, first_day: date, url: str
) -> Mapping[str, object]:
    return {
        "type": FIRED_EVENT if state.is_firing else RESOLVED_EVENT,
        "timestamp": format_timestamp(state.checked_at),
        "data": {
            "alert_id": str(alert.id),
            "name": alert.name,
            "workspace": workspace.public_id,
            "metric_id": alert.metric_id,
            "condition": alert.condition,
            "period": alert.period,
            "period_start": first_day.isoformat(),
            "value": state.value,
            "expected": {"low": state.low, "high": state.high},
            "url": url,
        },
    }


def _build_notification(
    alert: Alert, channel: Channel, target: str, occurrence: str, now: datetime, *, payload: str | None = None
) -> Notification:
    return Notification(
        workspace_id=alert.workspace_id,
        source_type=Alert.resource_type,
        source_id=alert.id,
        occurrence=occurrence,
        channel=channel,
        target=target,
        subject=alert.name,
        payload=payload,
        due_at=now,
        created_at=now,
        next_attempt_at=now,
    )


def _is_due(before: AlertState | None, period_start: datetime, now: datetime, alert: Alert) -> bool:
    """Returns whether a period is to be checked: a new one, one that was unknown, and any after a change of the alert."""
    if before is None or before.checked_period < period_start or before.checked_at < alert.updated_at:
        return True
    return before.status is AlertStatus.UNKNOWN and now - before.checked_at >= RECHECK_INTERVAL
