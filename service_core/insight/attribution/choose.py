"""From the attribution a request names to what a store is asked."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction

from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.attribution.ports import DataDriven, Key, RuleBased
from service_core.insight.ports import Credit, PathPlan, Paths, Weighting
from service_core.kernel.errors import Unprocessable


def credit_for(
    models: Models,
    chosen: Attribution,
    *,
    by_touch: bool = False,
    event_names: frozenset[str] | None = None,
) -> Credit:
    """The rule a store gives credit by.

    For a data-driven model it is one whose totals are the same, since every model shares out the
    same conversions; what each key gets of them is told by `fitted`.

    Raises:
        BadRequest: ``invalid_attribution``, for a model that is not installed.
    """
    model = models.named(chosen.model)
    if isinstance(model, RuleBased):
        return model.credit(chosen.window, by_touch=by_touch, event_names=event_names)
    return totals_only(chosen.window, event_names=event_names)


def totals_only(window: timedelta, *, event_names: frozenset[str] | None = None) -> Credit:
    """The cheapest rule: every model agrees with it on what has a touch, and on no more."""
    return Credit(Weighting.LAST, window, event_names=event_names)


async def fitted(models: Models, model: DataDriven, plan: PathPlan, paths: Paths) -> Mapping[Key, Fraction]:
    """What each key of a grouping is worth by a data-driven model, as weights.

    Raises:
        Unprocessable: ``insufficient_data``, under the floor of conversions or of paths without one.
    """
    found = await paths.paths(plan)
    converted, unconverted = sum(path.converted for path in found), sum(path.unconverted for path in found)
    if min(converted, unconverted) < models.floor:
        raise Unprocessable(
            f"{model.label} needs {models.floor} conversions and {models.floor} paths without one",
            "insufficient_data",
            field="model",
            hint=f"Found {converted} and {unconverted}: widen the range, or choose a rule-based model.",
        )
    weights = await asyncio.to_thread(model.fit, found)  # may take seconds, and other requests go on
    return {key: Fraction(weight) for key, weight in weights.items()}
