"""Resolves the attribution model of a request into a credit rule, and fits data-driven models."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import attrgetter

from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.ports import DataDrivenModel, PathKeys, RuleBasedModel, TouchKey
from service_core.analytics.ports import CreditRule, TouchPath, TouchPathQuery, TouchPathReader, Weighting
from service_core.kernel.errors import BadRequest, Unprocessable


class InsufficientData(Unprocessable):
    """A data-driven model has fewer conversions, or fewer paths without a conversion, than it needs."""

    def __init__(self, label: str, floor: int, converted: int, unconverted: int) -> None:
        super().__init__(
            f"{label} needs {floor} conversions and {floor} paths without one",
            "insufficient_data",
            field="model",
            hint=f"Found {converted} and {unconverted}: widen the range, or choose a rule-based model.",
        )


@dataclass(frozen=True, slots=True)
class FittedWeights:
    """The weights of touch keys by a data-driven model; all have the same keys, sorted.

    Attributes:
        conversions: keys share conversions in this proportion.
        orders: keys share orders in this proportion.
        amounts: keys share the money of charges in this proportion.
        refunds: keys share refunds in this proportion.
    """

    conversions: Mapping[TouchKey, Fraction]
    orders: Mapping[TouchKey, Fraction]
    amounts: Mapping[TouchKey, Fraction]
    refunds: Mapping[TouchKey, Fraction]

    def weights_of_credit_column(self, column_name: str) -> Mapping[TouchKey, Fraction]:
        """Returns the weights by which keys share the sum of a column of `Relation.CREDITS`."""
        weights_by_column = {"amount": self.amounts, "refunded": self.refunds, "order_credit": self.orders}
        return weights_by_column.get(column_name, self.conversions)


def credit_rule_or_last_touch_with_model_id(
    models: AttributionModels,
    settings: AttributionSettings,
    *,
    book_at_touch: bool = False,
    event_names: frozenset[str] | None = None,
) -> CreditRule:
    """Returns the credit rule of the chosen model.

    For a data-driven model the rule carries the model id and counts totals only: every model distributes
    the same conversions. `read_paths_and_fit_weights_if_enough_data` computes the share of each touch key.

    Args:
        models: the installed models.
        settings: model id and window.
        book_at_touch: book credit at the time of the touch instead of the conversion.
        event_names: count only these conversion events; None for the conversion set of the workspace.

    Raises:
        BadRequest: ``invalid_attribution``, if the model is not installed.
    """
    model = models.require_installed(settings.model)
    if isinstance(model, RuleBasedModel):
        return model.to_credit_rule(settings.window, book_at_touch=book_at_touch, event_names=event_names)
    return CreditRule(Weighting.LAST, settings.window, event_names=event_names, data_driven_model_id=model.id)


def require_rule_based_default_model(models: AttributionModels, model_id: str) -> None:
    """Checks that a model can be the default of a workspace.

    The default also weighs the touches of one person, which a data-driven model cannot do.

    Raises:
        BadRequest: ``invalid_attribution``, if the model is not installed or is data-driven.
    """
    model = models.require_installed(model_id)
    if not isinstance(model, RuleBasedModel):
        raise BadRequest(
            f"{model.label} credits groups, not single touches: it cannot be the default",
            "invalid_attribution",
            field="model",
        )


def without_data_driven_model_id(rule: CreditRule) -> CreditRule:
    """Returns the rule without its data-driven model id, as an event store accepts it."""
    return replace(rule, data_driven_model_id=None)


async def read_paths_and_fit_weights_if_enough_data(
    model: DataDrivenModel,
    query: TouchPathQuery,
    path_reader: TouchPathReader,
    *,
    min_conversions_and_non_conversions: int,
) -> FittedWeights:
    """Returns the weights of touch keys by a data-driven model.

    Args:
        model: the model; it is fitted in a thread, as that may take seconds.
        query: which paths are read.
        path_reader: reads the paths.
        min_conversions_and_non_conversions: required number of conversions, and of paths without one.

    Raises:
        InsufficientData: there are too few conversions, or too few paths without a conversion.
    """
    touch_paths = await path_reader.list_distinct_touch_paths_with_counts(query)
    converted, unconverted = (
        sum(path.converted for path in touch_paths),
        sum(path.unconverted for path in touch_paths),
    )
    if min(converted, unconverted) < min_conversions_and_non_conversions:
        raise InsufficientData(model.label, min_conversions_and_non_conversions, converted, unconverted)
    return await asyncio.to_thread(_fit_conversion_and_money_weights, model, touch_paths)


def _fit_conversion_and_money_weights(
    model: DataDrivenModel, touch_paths: Sequence[TouchPath]
) -> FittedWeights:
    conversions = model.fit([path for path in touch_paths if path.converted or path.unconverted])
    split = [
        _split_path_amounts_or_none(model, touch_paths, attrgetter(name)) or conversions
        for name in ("orders", "amount", "refunded")
    ]
    keys = sorted({key for weights in (conversions, *split) for key in weights}, key=order_absent_last)
    return FittedWeights(
        *({key: Fraction(weights.get(key, 0)) for key in keys} for weights in (conversions, *split))
    )


def _split_path_amounts_or_none(
    model: DataDrivenModel, touch_paths: Sequence[TouchPath], amount_of_path: Callable[[TouchPath], int]
) -> Mapping[TouchKey, Fraction] | None:
    """Returns the amount of each key; None if the model shares it like conversions, or no path has any."""
    amounts: Counter[PathKeys] = Counter()
    for path in touch_paths:
        amounts[path.keys] += amount_of_path(path)
    if model.split_amounts is None or not any(amounts.values()):
        return None
    return model.split_amounts(amounts)


def order_absent_last(key: TouchKey) -> tuple[tuple[bool, str], ...]:
    """Returns a sort key that orders touch keys by code point, absent values last."""
    return tuple((value is None, value or "") for value in key)
