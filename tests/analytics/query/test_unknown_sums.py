"""Which rows make a sum of money unknown: those without a rate where a source converts, else those in other currencies."""

import pytest

from service_core.analytics.measures import (
    MISSING_FX_RATE,
    DailyMean,
    FilterOperator,
    Predicate,
    Relation,
    count_rows,
    sum_column,
)
from service_core.analytics.query.compute import (
    compile_measure_zero_where_absent,
    iterate_counts_of_rows_making_sum_unknown,
)
from service_core.kernel.availability import Measured, UnavailableReason

FOREIGN = (Predicate("currency", FilterOperator.IS_SET), Predicate("currency", FilterOperator.NEQ, "EUR"))
PAID = Predicate("provider", value="stripe")


@pytest.mark.parametrize(
    ("column", "relation", "lacking"),
    [
        ("amount", Relation.PAYMENTS, (MISSING_FX_RATE,)),
        ("amount", Relation.CREDITS, (MISSING_FX_RATE,)),
        ("spend", Relation.SPEND, (MISSING_FX_RATE,)),
        ("mrr", Relation.SUBSCRIPTIONS, (MISSING_FX_RATE,)),
        ("cogs", Relation.COSTS, FOREIGN),
    ],
)
def test_rows_that_cannot_be_added_to_a_sum_of_money_are_counted(column, relation, lacking):
    ((count, unknown),) = iterate_counts_of_rows_making_sum_unknown(sum_column(column, relation, PAID), "EUR")
    is_not_zero = Predicate(column, FilterOperator.NEQ, 0)
    assert count == count_rows(relation, PAID, *lacking, is_not_zero)
    assert unknown.reason is UnavailableReason.MISSING_FX_RATE


def test_sums_without_money_are_known():
    for aggregation in (count_rows(Relation.PAYMENTS), sum_column("clicks", Relation.SPEND)):
        assert list(iterate_counts_of_rows_making_sum_unknown(aggregation, "EUR")) == []


def test_measure_without_a_row_is_zero_and_a_mean_over_no_day_is_unknown():
    sum_ = count_rows(Relation.EVENTS)
    for measure, value in ((sum_, 0), (DailyMean(sum_), None)):
        assert compile_measure_zero_where_absent(measure, {}, "EUR")(()) == Measured(value)
