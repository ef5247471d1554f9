"""The texts of the e-mails of an alert that began or ended to fire."""

from datetime import date

from service_core.access.models import Workspace
from service_core.analytics.query.catalog import Metric, MetricUnit
from service_core.kernel.money import currency_decimals
from service_core.workspace.alerts.models import Alert, AlertState

_MONEY = (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT)


def describe_fired_alert(
    workspace: Workspace, alert: Alert, metric: Metric | None, state: AlertState, first_day: date, *, url: str
) -> str:
    """Returns the text of the e-mail: the value, the expected range and the rule.

    Args:
        workspace: whose currency money has.
        alert: the alert.
        metric: names the value and its unit; None if the catalog has it no more.
        state: what the check found.
        first_day: first day of the checked period.
        url: address of the alert.
    """
    low, high, threshold = (
        format_value_of_metric(number, metric, workspace.currency)
        for number in (state.low, state.high, alert.value)
    )
    if alert.condition == "unusual":
        compared = "the same weekday of the last 8 weeks" if alert.period == "day" else "the last 8 weeks"
        rule = (
            f"Expected: {low} to {high}. That is the median of {compared}, plus or minus 3 usual deviations."
        )
    else:
        rule = f"The alert is sent when it is {alert.condition} {threshold}."
    return (
        f"{_value_sentence(workspace, alert, metric, state, first_day)}\n\n{rule}\n\n"
        f"You get no further e-mail until it is back to what is expected.\n\n{url}\n"
    )


def describe_resolved_alert(
    workspace: Workspace, alert: Alert, metric: Metric | None, state: AlertState, first_day: date, *, url: str
) -> str:
    """Returns the text of the e-mail that says an alert ended; the arguments are those of the alert."""
    sentence = _value_sentence(workspace, alert, metric, state, first_day)
    return f"{sentence}\n\nThat is what the alert expects again.\n\n{url}\n"


def _value_sentence(
    workspace: Workspace, alert: Alert, metric: Metric | None, state: AlertState, first_day: date
) -> str:
    value = format_value_of_metric(state.value, metric, workspace.currency)
    period = f"on {first_day}" if alert.period == "day" else f"in the week of {first_day}"
    name, label = " ".join(workspace.name.split()), metric.label if metric else alert.metric_id
    return f"{name}: {label} was {value} {period}."


def format_value_of_metric(value: float | None, metric: Metric | None, currency: str) -> str:
    """Returns a value in words: ``1,250.50 USD``, ``62 %``, ``2.5x``, ``95 seconds``.

    Args:
        value: as `POST /query` answers it; None if it is unknown.
        metric: gives the unit; None if the catalog has it no more.
        currency: of money, as an ISO code.
    """
    if value is None:
        return "unknown"
    unit = metric.unit if metric else MetricUnit.NUMBER
    if unit in _MONEY:
        return f"{value:,.{currency_decimals(currency)}f} {currency}"
    if metric and metric.is_multiple:
        return f"{_format_number(value)}x"
    if unit is MetricUnit.RATIO:
        return f"{_format_number(value * 100)} %"
    return f"{_format_number(value)} seconds" if unit is MetricUnit.SECONDS else _format_number(value)


def _format_number(value: float) -> str:
    """Returns a number with at most two decimals, or six significant digits below 1."""
    if 0 < abs(value) < 1:
        return f"{value:,.6g}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")
