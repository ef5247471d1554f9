"""What makes a report valid: the checks of `/metrics`, `/query` and `/funnel`, and which fields go together."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from service_core.access.model import Caller
from service_core.insight.attribution.model import Models
from service_core.insight.breakdowns import CountedMetric
from service_core.insight.funnels.operations import FunnelQuery
from service_core.insight.funnels.steps import steps_of
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import MetricsBody
from service_core.insight.query_plan import PlanBody
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import Unprocessable
from service_core.workspace.refusals import unprocessable
from service_core.workspace.reports.bodies import FUNNEL_ONLY
from service_core.workspace.reports.model import Report, ReportKind

_COUNTED: Final = get_args(CountedMetric)
_CATALOG: Final = ("metric_id", "chart", "dimension")
_QUERY: Final = ("plan", "steps")
_BY_DIMENSIONS: Final[Mapping[int, ReportKind]] = {0: "metric", 1: "breakdown"}


@dataclass(frozen=True, slots=True)
class Definitions:
    """Checks definitions against what is installed."""

    questions: Questions
    models: Models

    def check(self, report: Report, who: Caller) -> None:
        """Refuse a report that could not be run.

        Raises:
            Unprocessable: ``unknown_metric``, ``invalid_plan``, ``invalid_definition``.
        """
        if report.plan is not None:
            self.check_plan(report.plan, report.default_range, who, "report.plan")
        elif report.metric_id is not None:
            self._check_catalog(report, report.metric_id)

    def check_plan(self, plan: PlanBody, over: DateRange, who: Caller, where: str) -> None:
        """Ask the question a plan stands for, without an answer.

        Raises:
            Unprocessable: ``unknown_metric``, ``invalid_plan``.
        """
        asked = over.resolve(who.workspace.zone, who.now)
        with unprocessable(where, "invalid_plan", kept=("unknown_metric",)):
            plan.question(self.questions, self.models, asked, who.workspace)

    def _check_catalog(self, report: Report, metric: str) -> None:
        with unprocessable("report.metric_id", "unknown_metric", is_field=True):
            MetricsBody(metrics=[metric]).metric_ids(self.questions.catalog, 1)
        if report.dimension is not None and metric not in _COUNTED:
            raise _invalid("metric_id", f"A grouping counts one of {', '.join(_COUNTED)}")


def defined(fields: Mapping[str, Any], sent: Collection[str]) -> dict[str, Any]:
    """The fields of a definition with what follows from them: the kind, and what a funnel leaves open.

    Args:
        fields: as they shall stand, by name.
        sent: those the request names.

    Raises:
        Unprocessable: ``invalid_definition``, ``invalid_steps``, ``kind_mismatch``.
    """
    steps = None if fields["steps"] is None else checked_steps(fields["steps"])
    kind = _kind_of(fields)
    if "kind" in sent and fields["kind"] not in (None, kind):
        raise Unprocessable(
            f"This is a report of the kind {kind}",
            "kind_mismatch",
            field="report.kind",
            hint="Leave kind out.",
        )
    if steps is None:
        for name in FUNNEL_ONLY:
            if name in sent and fields[name] is not None:
                raise _invalid(name, f"{name} belongs to the steps of a funnel")
        return {**fields, **dict.fromkeys(FUNNEL_ONLY), "kind": kind}
    usual = {name: FunnelQuery.model_fields[name].get_default() for name in FUNNEL_ONLY}
    walked = {name: fields[name] if fields[name] is not None else usual[name] for name in FUNNEL_ONLY}
    return {**fields, **walked, "steps": steps, "kind": kind}


def checked_steps(steps: Sequence[str]) -> tuple[str, ...]:
    """The steps of a funnel, one name each.

    Raises:
        Unprocessable: ``invalid_steps``.
    """
    with unprocessable("report", "invalid_steps"):
        return steps_of([json.dumps(list(steps))])


def _kind_of(fields: Mapping[str, Any]) -> ReportKind:
    """What the fields make up together."""
    if fields["source"] is None:
        raise _invalid("source", "The source of a report is catalog or query")
    own, foreign = (_CATALOG, _QUERY) if fields["source"] == "catalog" else (_QUERY, _CATALOG)
    for name in foreign:
        if fields[name] is not None:
            raise _invalid(name, f"A report of the source {fields['source']} has no {name}")
    if own is _CATALOG and fields["metric_id"] is None:
        raise _invalid("metric_id", "A catalog report names its metric_id")
    if sum(fields[name] is not None for name in own[-2:]) != 1:
        raise _invalid(own[-1], f"A {fields['source']} report has either {own[-2]} or {own[-1]}")
    if own is _CATALOG:
        return "breakdown" if fields["chart"] is None else "metric"
    plan = fields["plan"]
    if plan is None:
        return "funnel"
    return _BY_DIMENSIONS.get(len(plan.dimensions), "table") if plan.interval is None else "timeseries"


def _invalid(field: str, message: str) -> Unprocessable:
    return Unprocessable(
        message, "invalid_definition", field=f"report.{field}", hint="Null clears what no longer belongs."
    )
