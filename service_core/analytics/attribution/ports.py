"""What an attribution model is: a rule a store applies, or a function fitted to paths.

A plugin contributes models through the hook ``attribution_models``; their ids are what
``attribution.model`` names on the wire (contract 2.10).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import Protocol, TypeAlias

from service_core.analytics.ports import CreditRule, TouchPath, Weighting

TouchKey: TypeAlias = tuple[str | None, ...]
"""One group of touches: the values of the grouping's columns."""


@dataclass(frozen=True, slots=True)
class RuleBasedModel:
    """A model that spreads each conversion over its own path; stores apply it inside the engine.

    Attributes:
        id: name on the wire.
        label: name for people.
        description: the definition in a sentence; docs show it.
        weighting: how the touches of a path share a conversion.
        drop_direct: direct touches count only where a path has no other.
        half_life: of `Weighting.DECAY`.
        ends_share: what first and last touch each get in `Weighting.ENDS`, in paths of three or more.
    """

    id: str
    label: str
    description: str
    weighting: Weighting
    ignore_direct: bool = False
    half_life: timedelta = field(default=timedelta(days=7))
    endpoint_share: float = 0.4

    def credit_rule(
        self, window: timedelta, *, book_at_touch: bool = False, event_names: frozenset[str] | None = None
    ) -> CreditRule:
        """The rule as a store takes it."""
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
    """Learns from all paths of a range what each key is worth; pure and deterministic."""

    def __call__(self, paths: Sequence[TouchPath]) -> Mapping[TouchKey, float | Fraction]:
        """Weights of the keys, not negative; they share the conversions in proportion.

        Args:
            paths: at least one converted. Each path's keys do not repeat in a row.
        """


@dataclass(frozen=True, slots=True)
class DataDrivenModel:
    """A model fitted to the paths of the range, converting ones and others.

    Attributes:
        id: name on the wire.
        label: name for people.
        description: the definition in a sentence; docs show it.
        fit: what each key is worth.
    """

    id: str
    label: str
    description: str
    fit: FitWeights


AttributionModel: TypeAlias = RuleBasedModel | DataDrivenModel
"""An attribution model."""
