"""From the attribution a request names to what a store is asked."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.ports import DataDrivenModel, RuleBasedModel, TouchKey
from service_core.analytics.ports import CreditRule, TouchPathQuery, TouchPathReader, Weighting
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


def credit_rule_for(
    models: AttributionModels,
    settings: AttributionSettings,
    *,
    book_at_touch: bool = False,
    event_names: frozenset[str] | None = None,
) -> CreditRule:
    """The rule to give credit by.

    For a data-driven model it names the model and has the same totals, since every model shares out
    the same conversions; what each key gets of them is told by `fitted`.

    Raises:
        BadRequest: ``invalid_attribution``, for a model that is not installed.
    """
    model = models.require(settings.model)
    if isinstance(model, RuleBasedModel):
        return model.credit_rule(settings.window, book_at_touch=book_at_touch, event_names=event_names)
    return CreditRule(Weighting.LAST, settings.window, event_names=event_names, data_driven_model_id=model.id)


def validate_default_model(models: AttributionModels, model_id: str) -> None:
    """Refuse a model that cannot be a workspace's default: it also tells the touches of one person apart.

    Raises:
        BadRequest: ``invalid_attribution``, for a model that is not installed, or a data-driven one.
    """
    model = models.require(model_id)
    if not isinstance(model, RuleBasedModel):
        raise BadRequest(
            f"{model.label} credits groups, not single touches: it cannot be the default",
            "invalid_attribution",
            field="model",
        )


def without_model(rule: CreditRule) -> CreditRule:
    """The rule under the name of a data-driven model, as a store takes it."""
    return replace(rule, data_driven_model_id=None)


async def fit_weights(
    models: AttributionModels, model: DataDrivenModel, query: TouchPathQuery, path_reader: TouchPathReader
) -> Mapping[TouchKey, Fraction]:
    """What each key of a grouping is worth by a data-driven model, as weights, keys in order.

    Raises:
        InsufficientData: under the floor of conversions, or of paths without one.
    """
    found = await path_reader.list_touch_paths(query)
    converted, unconverted = sum(path.converted for path in found), sum(path.unconverted for path in found)
    if min(converted, unconverted) < models.min_conversions:
        raise InsufficientData(model.label, models.min_conversions, converted, unconverted)
    weights = await asyncio.to_thread(model.fit, found)  # may take seconds, and other requests go on
    return {key: Fraction(weights[key]) for key in sorted(weights, key=touch_key_sort_key)}


def touch_key_sort_key(key: TouchKey) -> tuple[tuple[bool, str], ...]:
    """Orders keys by code point, absent values last."""
    return tuple((value is None, value or "") for value in key)
