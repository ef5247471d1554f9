"""Compares the variants of an experiment with the control."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from service_core.analytics.experiments.ports import VariantOutcome
from service_core.analytics.experiments.schemas import (
    Conclusion,
    ExperimentVariant,
    RateDifference,
    RevenueDifference,
)
from service_core.analytics.experiments.statistics import (
    Interval,
    Sample,
    Share,
    newcombe_difference_of_shares,
    normal_mean_interval_or_none_if_few,
    unequal_variance_difference_of_means,
    wilson_interval,
)
from service_core.analytics.rounding import round_decimal, round_ratio, to_decimal_amount
from service_core.kernel.money import currency_decimals

_DEFAULT_CONTROL: Final = "control"
_RATE_DECIMALS: Final = 6


def build_variants(
    outcomes: Sequence[VariantOutcome], control_name: str | None, confidence: float, currency: str
) -> list[ExperimentVariant]:
    """Returns the variants, the control first; without persons in the control there are no comparisons.

    Args:
        outcomes: the outcome of each variant, each with at least one person.
        control_name: the variant to compare with; None for ``control``, else the first by name.
        confidence: level of the intervals, such as 0.95.
        currency: the currency of the amounts.
    """
    by_name = {outcome.variant: outcome for outcome in sorted(outcomes, key=lambda each: each.variant)}
    name = control_name or (_DEFAULT_CONTROL if _DEFAULT_CONTROL in by_name else next(iter(by_name), None))
    control = by_name.get(name) if name else None
    ordered = sorted(by_name.values(), key=lambda each: (each is not control, each.variant))
    return [_build_variant(outcome, control, confidence, currency) for outcome in ordered]


def _build_variant(
    outcome: VariantOutcome, control: VariantOutcome | None, confidence: float, currency: str
) -> ExperimentVariant:
    rates = wilson_interval(_share(outcome), confidence)
    sample = _sample_or_none(outcome)
    means = None if sample is None else normal_mean_interval_or_none_if_few(sample, confidence)
    revenue = sum(amount * payers for amount, payers in outcome.payers_by_amount.items())
    other = None if outcome is control else control
    return ExperimentVariant(
        variant=outcome.variant,
        is_control=outcome is control,
        persons=outcome.persons,
        open=outcome.open,
        converted=outcome.converted,
        conversions=outcome.conversions,
        conversion_rate=round_ratio(outcome.converted, outcome.persons),
        conversion_rate_low=_rate(rates.low),
        conversion_rate_high=_rate(rates.high),
        revenue=to_decimal_amount(None if sample is None else revenue, currency),
        revenue_per_person=_money(None if sample is None else sample.mean, currency),
        revenue_per_person_low=_money(None if means is None else means.low, currency),
        revenue_per_person_high=_money(None if means is None else means.high, currency),
        conversion_rate_difference=_rate_difference_or_none_without_control(outcome, other, confidence),
        revenue_difference=_revenue_difference(outcome, other, confidence, currency),
    )


def _rate_difference_or_none_without_control(
    outcome: VariantOutcome, control: VariantOutcome | None, confidence: float
) -> RateDifference | None:
    if control is None:
        return None
    difference = newcombe_difference_of_shares(_share(outcome), _share(control), confidence)
    interval = difference.interval or Interval(difference.value, difference.value)
    detectable = difference.detectable
    return RateDifference(
        difference=_rate(difference.value),
        low=_rate(interval.low),
        high=_rate(interval.high),
        smallest_detectable_difference=None if detectable is None else _rate(detectable),
        conclusion=_conclude(interval),
    )


def _revenue_difference(
    outcome: VariantOutcome, control: VariantOutcome | None, confidence: float, currency: str
) -> RevenueDifference | None:
    """Returns the difference of the money per person; None where the money of one is unknown."""
    own, other = _sample_or_none(outcome), None if control is None else _sample_or_none(control)
    if own is None or other is None:
        return None
    difference = unequal_variance_difference_of_means(own, other, confidence)
    interval = difference.interval
    return RevenueDifference(
        difference=_known_money(difference.value, currency),
        low=_money(None if interval is None else interval.low, currency),
        high=_money(None if interval is None else interval.high, currency),
        smallest_detectable_difference=_money(difference.detectable, currency),
        conclusion=None if interval is None else _conclude(interval),
    )


def _conclude(interval: Interval) -> Conclusion:
    if not interval.excludes_zero:
        return "no_difference_shown"
    return "better" if interval.low > 0 else "worse"


def _share(outcome: VariantOutcome) -> Share:
    return Share(outcome.converted, outcome.persons)


def _sample_or_none(outcome: VariantOutcome) -> Sample | None:
    """Returns the amounts per person; None where some money has no exchange rate."""
    return (
        None
        if outcome.foreign_money
        else Sample.from_payers_and_zero_for_others(outcome.payers_by_amount, outcome.persons)
    )


def _rate(value: float) -> Decimal:
    return round_decimal(value, _RATE_DECIMALS)


def _money(minor: float | None, currency: str) -> Decimal | None:
    return None if minor is None else _known_money(minor, currency)


def _known_money(minor: float, currency: str) -> Decimal:
    decimals = currency_decimals(currency)
    return round_decimal(minor / 10**decimals, decimals)
