"""Attribution models: a rule that stores apply, or a function fitted to paths.

A plugin registers models with the hook ``attribution_models``; requests name their ids in
``attribution.model``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import Protocol, TypeAlias

from service_core.analytics.ports import CreditRule, TouchPath, Weighting

TouchKey: TypeAlias = tuple[str | None, ...]
"""One group of touches: the values of the grouped columns."""


@dataclass(frozen=True, slots=True)
class RuleBasedModel:
    """A model that distributes each conversion over its own path. Event stores apply it.

    Attributes:
        id: id in requests.
        label: display name.
        description: definition in one sentence, shown in the docs.
        weighting: how the touches of a path share a conversion.
        ignore_direct: ignore direct touches unless the path has no other.
        half_life: half-life of `Weighting.TIME_DECAY`.
        endpoint_share: share of the first and of the last touch with `Weighting.POSITION_BASED`, in paths of three or more.
    """

    id: str
    label: str
    description: str
    weighting: Weighting
    ignore_direct: bool = False
    half_life: timedelta = field(default=timedelta(days=7))
    endpoint_share: float = 0.4

    def to_credit_rule(
        self, window: timedelta, *, book_at_touch: bool = False, event_names: frozenset[str] | None = None
    ) -> CreditRule:
        """Returns the rule that an event store applies."""
        return CreditRule(
            weighting=self.weighting,
            window=window,
            ignore_direct=self.ignore_direct,
            half_life=self.half_life,
            endpoint_share=self.endpoint_share,
            book_at_touch=book_at_touch,
            event_names=event_names,
        )


class FitWeights(Protocol):
    """Computes the weight of each touch key from all paths of a range; pure and deterministic."""

    def __call__(self, paths: Sequence[TouchPath]) -> Mapping[TouchKey, float | Fraction]:
        """Returns the weights of the keys, never negative. Keys share the conversions in proportion.

        Args:
            paths: at least one has converted. A key never follows itself within a path.
        """


PathKeys: TypeAlias = tuple[TouchKey, ...]
"""The keys of a touch path, in order."""


class SplitPathAmounts(Protocol):
    """Splits the money, or the orders, of paths over their keys; pure and deterministic."""

    def __call__(self, amounts: Mapping[PathKeys, int]) -> Mapping[TouchKey, Fraction]:
        """Returns the amount of each key, never negative. Keys share the sum of all amounts in proportion.

        Args:
            amounts: minor units, or number of orders, by path, never negative; at least one is positive.
        """


@dataclass(frozen=True, slots=True)
class DataDrivenModel:
    """A model fitted to all paths of the range, converting or not.

    Attributes:
        id: id in requests.
        label: display name.
        description: definition in one sentence, shown in the docs.
        fit: computes the weights of the keys.
        split_amounts: splits the money and the orders of each path; None if keys share them in proportion to
            conversions.
    """

    id: str
    label: str
    description: str
    fit: FitWeights
    split_amounts: SplitPathAmounts | None = None


AttributionModel: TypeAlias = RuleBasedModel | DataDrivenModel
"""An attribution model."""
