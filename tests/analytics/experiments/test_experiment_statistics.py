"""Intervals and detectable differences against independent calculations."""

from fractions import Fraction
from math import isclose, sqrt
from random import Random
from statistics import NormalDist, fmean, variance

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service_core.analytics.experiments.statistics import (
    POWER,
    Sample,
    Share,
    newcombe_difference_of_shares,
    normal_mean_interval_or_none_if_few,
    unequal_variance_difference_of_means,
    wilson_interval,
)

SHARES = st.integers(1, 5_000).flatmap(lambda n: st.builds(Share, st.integers(0, n), st.just(n)))
CONFIDENCE = st.sampled_from([0.9, 0.95, 0.99])


def quantile(confidence):
    return NormalDist().inv_cdf(0.5 + confidence / 2)


@given(share=SHARES, confidence=CONFIDENCE)
def test_ends_of_wilson_intervals_solve_the_score_equation(share, confidence):
    """The ends are the shares p for which the observed share lies z standard errors of p away."""
    z = quantile(confidence)
    interval = wilson_interval(share, confidence)
    assert 0 <= interval.low <= share.rate <= interval.high <= 1
    for end in (interval.low, interval.high):
        if 0 < end < 1:
            score = abs(share.rate - end) / sqrt(end * (1 - end) / share.total)
            assert isclose(score, z, rel_tol=1e-6)


def test_newcombe_interval_equals_the_published_example():
    """Newcombe 1998, table II (a): 56/70 and 48/80 give 0.0524 to 0.3339 by method 10."""
    difference = newcombe_difference_of_shares(Share(56, 70), Share(48, 80), 0.95)
    assert difference.value == pytest.approx(0.2)
    assert (difference.interval.low, difference.interval.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(share=SHARES, control=SHARES, confidence=CONFIDENCE)
def test_difference_of_shares_mirrors_and_contains_the_observed_one(share, control, confidence):
    there = newcombe_difference_of_shares(share, control, confidence)
    back = newcombe_difference_of_shares(control, share, confidence)
    assert there.interval.low <= there.value <= there.interval.high
    assert isclose(there.interval.low, -back.interval.high, abs_tol=1e-12)
    assert isclose(there.interval.high, -back.interval.low, abs_tol=1e-12)
    converted = share.hits + control.hits
    if converted in (0, share.total + control.total):
        assert there.detectable is None
    else:
        rate = Fraction(converted, share.total + control.total)
        error = float(rate * (1 - rate) * (Fraction(1, share.total) + Fraction(1, control.total)))
        expected = (quantile(confidence) + NormalDist().inv_cdf(POWER)) * sqrt(error)
        assert there.detectable == pytest.approx(expected)


AMOUNTS = st.lists(st.integers(-(10**9), 10**12), min_size=2, max_size=80)


@given(paid=AMOUNTS, without=st.integers(0, 60))
def test_mean_and_variance_include_persons_without_payment(paid, without):
    payers = {amount: paid.count(amount) for amount in paid}
    sample = Sample.from_payers_and_zero_for_others(payers, len(paid) + without)
    amounts = [Fraction(amount) for amount in [*paid, *[0] * without]]
    assert isclose(sample.mean, float(fmean(map(float, amounts))), rel_tol=1e-9, abs_tol=1e-6)
    assert isclose(sample.variance, float(variance(amounts)), rel_tol=1e-9, abs_tol=1e-6)


@given(ours=AMOUNTS, theirs=AMOUNTS, confidence=CONFIDENCE)
def test_difference_of_means_uses_the_variances_of_both_groups(ours, theirs, confidence):
    samples = [
        Sample.from_payers_and_zero_for_others({x: each.count(x) for x in each}, len(each))
        for each in (ours, theirs)
    ]
    difference = unequal_variance_difference_of_means(*samples, confidence)
    assert isclose(difference.value, fmean(ours) - fmean(theirs), rel_tol=1e-9, abs_tol=1e-3)
    if min(len(ours), len(theirs)) < 30:
        assert (difference.interval, difference.detectable) == (None, None)
        assert all(
            (normal_mean_interval_or_none_if_few(each, confidence) is None) == (each.total < 30)
            for each in samples
        )
        return
    error = sqrt(variance(map(Fraction, ours)) / len(ours) + variance(map(Fraction, theirs)) / len(theirs))
    assume(error > 1e-6)
    assert difference.interval.high - difference.interval.low == pytest.approx(
        2 * quantile(confidence) * error
    )
    assert difference.detectable == pytest.approx((quantile(confidence) + NormalDist().inv_cdf(0.8)) * error)


def test_intervals_cover_the_true_difference_and_show_the_detectable_one_as_often_as_they_say():
    """Of simulated experiments, 95 % of the intervals hold the truth; 80 % show a difference of the detectable size."""
    random, size, base = Random(7), 2_000, 0.1
    detectable = newcombe_difference_of_shares(Share(200, size), Share(200, size), 0.95).detectable

    def draw(rate):
        return Share(sum(random.random() < rate for _ in range(size)), size)

    covered = shown = 0
    runs = 300
    for _ in range(runs):
        difference = newcombe_difference_of_shares(draw(base + detectable), draw(base), 0.95)
        covered += difference.interval.low <= detectable <= difference.interval.high
        shown += difference.interval.excludes_zero
    assert 0.91 <= covered / runs <= 0.99
    assert 0.7 <= shown / runs <= 0.9
