"""Conformance tests of whole numbers above 2**53, which floats cannot tell from their neighbours."""

from typing import Any

import pytest

from service_core.analytics.measures import Column, FilterOperator, Predicate, property_column
from service_core.testing.event_builder import EventBuilder
from service_core.testing.event_store.kit import (
    EVENTS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)
from service_core.testing.event_store.sessions_and_payments import REFUNDS, REVENUE, SPAN

LIMIT = 2**53
LARGEST_AMOUNT = 10**17 - 1
"""Minor units of the largest amount below 1e15 in a currency of two decimals."""


class LargeNumbers(EventStoreKit):
    """Tests of amounts and properties above 2**53."""

    @pytest.mark.parametrize("as_text", [False, True])
    async def test_whole_numbers_of_properties_compare_exactly(
        self, store: Store, builder: EventBuilder, *, as_text: bool
    ) -> None:
        """Equality, order and lists tell neighbours above 2**53 apart, as numbers and as texts."""
        for n in (LIMIT, LIMIT + 1, LIMIT + 2, -LIMIT - 1, 10**18 + 1, 1.5, True, None, "x"):
            sent: Any = str(n) if as_text and isinstance(n, int) and not isinstance(n, bool) else n
            builder.add_event("import", at="2026-03-02", visitor="A1", event_data={"n": sent})
        await store.append(builder.events)
        at = property_column("n")
        for op, operand, count in (
            (FilterOperator.EQ, LIMIT + 1, 1),
            (FilterOperator.EQ, float(LIMIT), 1),
            (FilterOperator.NEQ, LIMIT + 1, 8),
            (FilterOperator.GT, LIMIT, 3),
            (FilterOperator.GTE, LIMIT + 1, 3),
            (FilterOperator.LT, LIMIT + 1, 3),
            (FilterOperator.LTE, -LIMIT - 1, 1),
            (FilterOperator.LT, -LIMIT, 1),
            (FilterOperator.BETWEEN, (LIMIT + 1, LIMIT + 2), 2),
            (FilterOperator.IN, (LIMIT + 2, 10**18), 1),
            (FilterOperator.EQ, 10**18 + 1, 1),
        ):
            matching = EVENTS.with_conditions(Predicate(at, op, operand))
            assert await measure_value_or_row(store, builder.query_scope(SPAN), matching) == count, (
                op,
                operand,
            )

    async def test_amounts_above_2_to_the_53_compare_and_add_up_exactly(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The largest amounts keep their last minor unit in filters, groups and sums."""
        amounts = (LIMIT + 1, LIMIT + 2, LARGEST_AMOUNT, LARGEST_AMOUNT - 1, -LARGEST_AMOUNT)
        for amount in amounts:
            builder.add_event("purchase", at="2026-03-02", visitor="A1", revenue=amount)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, REVENUE, REFUNDS) == (
            sum(amounts[:4]),
            LARGEST_AMOUNT,
        )
        exactly = EVENTS.with_conditions(Predicate("revenue", value=LIMIT + 1))
        more = EVENTS.with_conditions(Predicate("revenue", FilterOperator.GT, LARGEST_AMOUNT - 1))
        assert await measure_value_or_row(store, scope, exactly, more) == (1, 1)
        assert await measure_by_columns(store, scope, EVENTS, Column("revenue")) == dict.fromkeys(amounts, 1)

    async def test_sums_of_the_largest_amounts_are_exact_beyond_64_bits(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A hundred orders of the largest amount leave every sum known."""
        for _ in range(100):
            builder.add_event("purchase", at="2026-03-02", visitor="A1", revenue=LARGEST_AMOUNT)
        await store.append(builder.events)
        scope = builder.query_scope(SPAN)
        assert await measure_value_or_row(store, scope, REVENUE, REFUNDS) == (100 * LARGEST_AMOUNT, 0)
        by_currency = await measure_by_columns(store, scope, REVENUE, Column("currency"))
        assert by_currency == {"USD": 100 * LARGEST_AMOUNT}
