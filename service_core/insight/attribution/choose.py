"""From the attribution a request names to what a store is asked."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from service_core.insight.attribution.model import Attribution, Models
from service_core.insight.attribution.ports import DataDriven, Key, RuleBased
from service_core.insight.ports import Credit, PathPlan, Paths, Weighting
from service_core.kernel.errors import BadRequest, Unprocessable


class InsufficientData(Unprocessable):
    """A data-driven model has less to learn from than its floor (semantics 9)."""

    def __init__(self, label: str, floor: int, converted: int, unconverted: int) -> None:
        super().__init__(
            f"{label} needs {floor} conversions and {floor} paths without one",
            "insufficient_data",
            field="model",
            hint=f"Found {converted} and {unconverted}: widen the range, or choose a rule-based model.",
        )


def credit_for(
    models: Models,
    chosen: Attribution,
    *,
    by_touch: bool = False,
    event_names: frozenset[str] | None = None,
) -> Credit:
    """The rule to give credit by.

    For a data-driven model it names the model and has the same totals, since every model shares out
    the same conversions; what each key gets of them is told by `fitted`.

    Raises:
        BadRequest: ``invalid_attribution``, for a model that is not installed.
    """
    model = models.named(chosen.model)
    if isinstance(model, RuleBased):
        return model.credit(chosen.window, by_touch=by_touch, event_names=event_names)
    return Credit(Weighting.LAST, chosen.window, event_names=event_names, fitted=model.id)


def check_default(models: Models, name: str) -> None:
    """Refuse a model that cannot be a workspace's default: it also tells the touches of one person apart.

    Raises:
        BadRequest: ``invalid_attribution``, for a model that is not installed, or a data-driven one.
    """
    model = models.named(name)
    if not isinstance(model, RuleBased):
        raise BadRequest(
            f"{model.label} credits groups, not single touches: it cannot be the default",
            "invalid_attribution",
            field="model",
        )


def totals_only(credit: Credit) -> Credit:
    """The rule under the name of a data-driven model, as a store takes it."""
    return replace(credit, fitted=None)


async def fitted(models: Models, model: DataDriven, plan: PathPlan, paths: Paths) -> Mapping[Key, Fraction]:
    """What each key of a grouping is worth by a data-driven model, as weights, keys in order.

    Raises:
        InsufficientData: under the floor of conversions, or of paths without one.
    """
    found = await paths.paths(plan)
    converted, unconverted = sum(path.converted for path in found), sum(path.unconverted for path in found)
    if min(converted, unconverted) < models.floor:
        raise InsufficientData(model.label, models.floor, converted, unconverted)
    weights = await asyncio.to_thread(model.fit, found)  # may take seconds, and other requests go on
    return {key: Fraction(weights[key]) for key in sorted(weights, key=by_text)}


def by_text(key: Key) -> tuple[tuple[bool, str], ...]:
    """Orders keys by code point, absent values last."""
    return tuple((value is None, value or "") for value in key)
