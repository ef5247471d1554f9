"""What the subscriptions of a workspace come to: the values of metrics, each with its one definition."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Final

from service_core.access.model import Caller
from service_core.commerce.subscriptions.answer import MrrMovements, SubscriptionSummary
from service_core.commerce.subscriptions.closing import closing
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.commerce.subscriptions.standing import Standing
from service_core.insight.metric_values import UnavailableMetric, not_measured
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Filter, Question
from service_core.insight.query.questions import Questions
from service_core.kernel.money import to_major
from service_core.kernel.ranges import Range, Span
from service_core.kernel.reading import Reading, Unavailable
from service_core.kernel.together import together

_FIELDS: Final = {
    "mrr": "mrr",
    "arr": "arr",
    "new": "new_subscriptions",
    "canceled": "churned_subscriptions",
    "churn_rate": "churn_rate",
    "trial_conversion_rate": "trial_conversion_rate",
}
_MOVES: Final = {
    "new": "mrr_new",
    "expansion": "mrr_expansion",
    "contraction": "mrr_contraction",
    "churn": "mrr_churn",
    "reactivation": "mrr_reactivation",
}
METRICS: Final = (*_FIELDS.values(), *_MOVES.values())
"""The metrics whose values it shows."""

_COUNTED: Final = (Standing.ACTIVE, Standing.TRIALING, Standing.PAST_DUE)


@dataclass(frozen=True, slots=True)
class Summing:
    """One request: whose subscriptions, of which provider, over which range."""

    questions: Questions
    store: SubscriptionStore
    who: Caller
    asked: Range
    provider: str | None

    async def summary(self, end: datetime) -> tuple[SubscriptionSummary, list[UnavailableMetric]]:
        """The summary, and what it does not know.

        Args:
            end: of the range, or now.
        """
        before = Span(self.asked.span.start - datetime.resolution, self.asked.span.start)
        now, (at_start,), standings = await together(
            self._readings(METRICS, self.asked),
            self._readings(("mrr",), replace(self.asked, span=before)),
            self.store.subscription_standings(self.who.workspace.id, end, self.provider),
        )
        told = dict(zip(METRICS, now, strict=True))
        counts = {standing.value: standings.get(standing, 0) for standing in _COUNTED}
        is_counted = not isinstance(told["new_subscriptions"], Unavailable)
        metrics, currency = self.questions.catalog.metrics, self.who.workspace.currency
        fields = {field: rounded(told[id_], metrics[id_], currency) for field, id_ in _FIELDS.items()}
        summary = SubscriptionSummary.model_validate(
            {
                **(counts if is_counted else dict.fromkeys(counts)),
                **fields,
                "movements": self._movements(at_start, told),
            }
        )
        return summary, not_measured(METRICS, now)

    async def _readings(self, metrics: tuple[str, ...], asked: Range) -> tuple[Reading, ...]:
        narrowed = (Filter("provider", value=self.provider),) if self.provider else ()
        return (
            (await self.questions.ask(self.who, Question(metrics, asked, filters=narrowed))).rows[0].readings
        )

    def _movements(self, at_start: Reading, told: Mapping[str, Reading]) -> MrrMovements:
        """From start to end; as they are where something is unknown, else so that they add up."""
        metrics, currency = self.questions.catalog.metrics, self.who.workspace.currency
        readings = {field: told[id_] for field, id_ in _MOVES.items()}
        shown = {field: rounded(reading, metrics["mrr"], currency) for field, reading in readings.items()}
        ends = {
            name: rounded(reading, metrics["mrr"], currency)
            for name, reading in (("start_mrr", at_start), ("end_mrr", told["mrr"]))
        }
        found = [_exact(reading) for reading in (at_start, *readings.values(), told["mrr"])]
        known = [value for value in found if value is not None]
        if len(known) < len(found):
            return MrrMovements.model_validate({**ends, **shown, "fx": None})
        start, *moves, end = known
        # What rates did meanwhile to what stood: the rest.
        every = [*moves, end - start - sum(moves)]
        whole = zip((*readings, "fx"), closing(start, every, end), strict=True)
        closed = {field: float(to_major(units, currency)) for field, units in whole}
        return MrrMovements.model_validate({**ends, **closed})


def _exact(reading: Reading) -> Fraction | None:
    return None if isinstance(reading, Unavailable) or reading.value is None else Fraction(reading.value)
