"""Conformance tests of currency conversion: amounts convert at the rate of their day or count as missing a rate."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Final, TypeVar

from hypothesis import given

from service_core.analytics.cohorts.ports import CohortReaderQuery
from service_core.analytics.measures import (
    MISSING_FX_RATE,
    Column,
    FilterOperator,
    Predicate,
    Relation,
    count_rows,
    sum_column,
    touch_column,
)
from service_core.analytics.people.ports import PeoplePageQuery, PersonActivityQuery
from service_core.analytics.ports import AggregateQuery, CreditRule, QueryScope, Weighting
from service_core.kernel.exchange_rates import DayRate, ExchangeRates
from service_core.testing import random_queries
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.event_store.differential import (
    append_dataset_in_random_batches,
    assert_same_answer_as_reference,
    on_random_datasets,
    sizes_and_non_empty_cells,
)
from service_core.testing.event_store.kit import (
    CREDITED_MONEY,
    CREDITED_REFUNDS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)
from service_core.testing.random_datasets import DAYS, RandomDataset, random_datasets

MARCH: Final = whole_utc_days("2026-03-01", "2026-03-31")
LINEAR_CREDIT: Final = CreditRule(Weighting.LINEAR, timedelta(days=30))
CHARGED: Final = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
REFUNDED: Final = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
MISSING_RATES: Final = count_rows(Relation.PAYMENTS, MISSING_FX_RATE)
CREDITS_WITH_MISSING_RATES: Final = count_rows(
    Relation.CREDITS, MISSING_FX_RATE, Predicate("amount", FilterOperator.GT, 0)
)


def make_exchange_rates(
    euro_rates_by_day: Mapping[str, Mapping[str, str]], to_currency: str = "USD"
) -> ExchangeRates:
    """Returns rates into one currency.

    Args:
        euro_rates_by_day: day -> currency -> decimal text of its units per euro.
        to_currency: the currency into which amounts are converted.
    """
    return ExchangeRates.from_published(
        to_currency,
        (
            DayRate(date.fromisoformat(day), currency, Decimal(per_euro))
            for day, rates_of_day in euro_rates_by_day.items()
            for currency, per_euro in rates_of_day.items()
        ),
    )


FRIDAY_EURO_RATES: Final = {"2026-03-06": {"USD": "1.0876", "JPY": "171.23", "KWD": "0.3341"}}


class CurrencyConversion(EventStoreKit):
    """Tests of amounts in several currencies, converted to the currency of the scope."""

    async def test_amounts_are_converted_at_the_rate_of_their_day_and_grouped_by_own_currency(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Amounts are converted at the latest rate up to their day and keep their original currency as a column."""
        for at, revenue, currency in (
            ("2026-03-06", 10_00, "EUR"),  # 10.876
            ("2026-03-08", 1_234, "JPY"),  # Sunday, at Friday's rate: 7.8379...
            ("2026-03-06", 12_345, "KWD"),  # 40.186...
            ("2026-03-06", 5_00, "USD"),
        ):
            builder.add_event("purchase", at=f"{at}T12:00", visitor="A1", revenue=revenue, currency=currency)
        await store.append(builder.events)
        scope = builder.query_scope(MARCH, rates=make_exchange_rates(FRIDAY_EURO_RATES))
        by_currency = {"EUR": 10_88, "JPY": 7_84, "KWD": 40_19, "USD": 5_00}
        assert await measure_by_columns(store, scope, CHARGED, "currency") == by_currency
        assert await measure_value_or_row(store, scope, CHARGED, MISSING_RATES) == (
            sum(by_currency.values()),
            0,
        )
        credited = await measure_value_or_row(
            store, scope, CREDITED_MONEY, CREDITS_WITH_MISSING_RATES, credit=LINEAR_CREDIT
        )
        assert credited == (sum(by_currency.values()), 0)
        in_yen = builder.query_scope(
            MARCH, currency="JPY", rates=make_exchange_rates(FRIDAY_EURO_RATES, "JPY")
        )
        assert await measure_by_columns(store, in_yen, CHARGED, "currency") == {
            "EUR": 1712, "JPY": 1234, "KWD": 6327, "USD": 787,
        }  # fmt: skip

    async def test_amounts_without_a_rate_are_counted_as_missing_fx_rate(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Payments and credits whose currency has no rate are counted as missing, not converted."""
        for currency in ("EUR", "USD", "GBP"):
            builder.add_event("purchase", at="2026-03-06", visitor="A1", revenue=100, currency=currency)
        await store.append(builder.events)
        assert await measure_value_or_row(store, builder.query_scope(MARCH), MISSING_RATES) == 2
        assert (
            await measure_value_or_row(
                store, builder.query_scope(MARCH), CREDITS_WITH_MISSING_RATES, credit=LINEAR_CREDIT
            )
            == 2
        )
        known = builder.query_scope(MARCH, rates=make_exchange_rates(FRIDAY_EURO_RATES))
        assert await measure_by_columns(store, known, count_rows(Relation.PAYMENTS), "currency", "missing_fx_rate") == {
            ("EUR", False): 1, ("USD", False): 1, ("GBP", True): 1,
        }  # fmt: skip
        nothing = builder.query_scope(MARCH, rates=make_exchange_rates({}))
        assert await measure_value_or_row(store, nothing, MISSING_RATES) == 2

    async def test_rate_is_used_for_seven_days_in_the_workspace_time_zone(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A rate is used on its day and the seven after it, by the days of the workspace's time zone."""
        for at in ("2026-03-05T23:59", "2026-03-06T00:00", "2026-03-13T23:59", "2026-03-14T00:00"):
            builder.add_event("purchase", at=at, visitor="A1", revenue=100, currency="EUR")
        await store.append(builder.events)
        known = make_exchange_rates({"2026-03-06": {"USD": "2"}})
        assert await measure_value_or_row(store, builder.query_scope(MARCH, rates=known), MISSING_RATES) == 2
        # Nine hours of each UTC day are already the next day in Tokyo.
        tokyo = builder.query_scope(MARCH, rates=known, zone="Asia/Tokyo")
        assert await measure_value_or_row(store, tokyo, MISSING_RATES) == 2
        later = make_exchange_rates({"2026-03-06": {"USD": "2"}, "2026-03-14": {"USD": "3"}})
        assert await measure_value_or_row(store, replace(tokyo, rates=later), CHARGED, MISSING_RATES) == (
            200 + 200 + 300 + 300,
            0,
        )

    async def test_each_converted_amount_is_rounded_half_to_even_on_its_own(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Conversion rounds each payment on its own, halves to the even minor unit, before it is summed."""
        for number, revenue in enumerate((1, 3, 5, 7)):
            builder.add_event(
                "purchase", at="2026-03-06", visitor=f"A{number}", revenue=revenue, currency="EUR"
            )
        await store.append(builder.events)
        halved = builder.query_scope(MARCH, rates=make_exchange_rates({"2026-03-06": {"USD": "0.5"}}))
        assert await measure_value_or_row(store, halved, CHARGED) == 0 + 2 + 2 + 4

    async def test_refund_is_converted_at_the_rate_of_its_charge(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """A refund is converted at its charge's rate, so a full refund nets to zero.

        Without a charge at the rate of its own day.
        """
        builder.add_event("page_view", at="2026-01-10", visitor="A1", **campaign_columns("google", "cpc"))
        order = {"visitor": "A1", "order_id": "O1", "currency": "EUR"}
        builder.add_event("purchase", at="2026-01-20", revenue=999, **order)
        builder.add_event("refund", at="2026-03-20", revenue=-999, **order)
        builder.add_event("refund", at="2026-03-20", visitor="A2", revenue=-100, currency="EUR")
        await store.append(builder.events)
        known = make_exchange_rates({"2026-01-20": {"USD": "1.1"}, "2026-03-20": {"USD": "1.3"}})
        for span in (MARCH, whole_utc_days("2026-01-01", "2026-03-31")):
            scope = builder.query_scope(span, rates=known)
            assert await measure_value_or_row(store, scope, REFUNDED, MISSING_RATES) == (1099 + 130, 0)
            assert (
                await measure_value_or_row(store, scope, CREDITED_REFUNDS, credit=LINEAR_CREDIT) == 1099 + 130
            )
            on_order = builder.query_scope(
                whole_utc_days("2026-01-01", "2026-01-31"), rates=known, order_refunds=True
            )
            assert await measure_value_or_row(store, on_order, CHARGED, REFUNDED) == (1099, 1099)
        builder.add_event(
            "refund", at="2026-03-05", visitor="A3", order_id="O3", revenue=-500, currency="EUR"
        )
        builder.add_event(
            "purchase", at="2026-03-20", visitor="A3", order_id="O3", revenue=500, currency="EUR"
        )
        await store.append(builder.events[-2:])
        dated_before = builder.query_scope(whole_utc_days("2026-03-05", "2026-03-20"), rates=known)
        charged_and_refunded = await measure_value_or_row(
            store, dated_before, CHARGED, REFUNDED, MISSING_RATES
        )
        assert charged_and_refunded == (650, 650 + 1099 + 130, 0)
        first = Predicate("first_order", value=True)
        whole = builder.query_scope(whole_utc_days("2026-01-01", "2026-03-31"), rates=known)
        assert (
            await measure_value_or_row(store, whole, sum_column("amount", Relation.PAYMENTS, first))
            == 1099 + 650
        )

    async def test_credited_amounts_are_converted_before_they_are_split(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An amount is converted first and then split over its touches, so the credits add up to the converted amount."""
        for day, source in ((2, "google"), (3, "bing"), (4, "news")):
            builder.add_event(
                "page_view",
                at=f"2026-03-0{day}",
                visitor="A1",
                session=source,
                **campaign_columns(source, "cpc"),
            )
        builder.add_event(
            "purchase", at="2026-03-06", visitor="A1", session="news", revenue=100, currency="EUR"
        )
        await store.append(builder.events)
        scope = builder.query_scope(MARCH, rates=make_exchange_rates({"2026-03-06": {"USD": "1.1"}}))
        by_source = await measure_by_columns(
            store, scope, CREDITED_MONEY, touch_column("attribution_source"), credit=LINEAR_CREDIT
        )
        assert sorted(by_source.values()) == [36, 37, 37]

    async def test_converted_amount_out_of_range_counts_as_missing_fx_rate(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """An amount whose conversion exceeds the largest amount counts as missing a rate."""
        builder.add_event("purchase", at="2026-03-06", visitor="A1", revenue=10**17 - 1, currency="EUR")
        builder.add_event("purchase", at="2026-03-06", visitor="A1", revenue=10**15 - 1, currency="JPY")
        await store.append(builder.events)
        scope = builder.query_scope(
            MARCH, rates=make_exchange_rates({"2026-03-06": {"USD": "999999.99", "JPY": "0.000001"}})
        )
        assert await measure_value_or_row(store, scope, MISSING_RATES) == 2
        assert await measure_value_or_row(store, scope, CREDITS_WITH_MISSING_RATES, credit=LINEAR_CREDIT) == 2

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_converted_amounts_of_random_datasets_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """With random rates, sums of payments and credits and random aggregates equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        for relation, aggregations in _SUMS.items():
            plan = replace(
                random_queries.query_counting_rows_per_set_column(random, dataset, relation),
                measures=aggregations,
                dimensions=random.choice(((), ({str(relation): Column("currency")},))),
            )
            await assert_same_answer_as_reference(
                store, oracle, "aggregate", _query_with_random_rates(random, dataset, plan)
            )
        await assert_same_answer_as_reference(
            store,
            oracle,
            "aggregate",
            _query_with_random_rates(random, dataset, random_queries.random_aggregate_query(random, dataset)),
        )

    @given(drawn=random_datasets())
    @on_random_datasets
    async def test_converted_amounts_of_people_and_cohorts_equal_the_reference_store(
        self, store: Store, oracle: Store, drawn: tuple[RandomDataset, Random]
    ) -> None:
        """With random rates, people, cohorts, active visitors and person activity equal those of the reference store."""
        dataset, random = drawn
        await append_dataset_in_random_batches(dataset, random, store, oracle)
        await assert_same_answer_as_reference(
            store,
            oracle,
            "list_people_and_total",
            _query_with_random_rates(
                random, dataset, random_queries.random_people_page_query(random, dataset)
            ),
        )
        cohorts = _query_with_random_rates(
            random, dataset, random_queries.random_cohort_query(random, dataset)
        )
        await assert_same_answer_as_reference(
            store, oracle, "read_cohorts", cohorts, normalize=sizes_and_non_empty_cells
        )
        scope = _scope_with_random_rates(random, dataset, random_queries.random_query_scope(random, dataset))
        await assert_same_answer_as_reference(
            store, oracle, "list_visitors_with_recently_received_events", scope, scope.span.start, 3
        )
        person = await oracle.find_person_of_any_id(dataset.builder.workspace_id, "A1")
        if person:
            journey = random_queries.random_person_activity_query(random, dataset, person)
            await assert_same_answer_as_reference(
                store, oracle, "read_activity", _query_with_random_rates(random, dataset, journey)
            )


_SUMS: Final = {
    Relation.PAYMENTS: (CHARGED, REFUNDED, MISSING_RATES, sum_column("first_order", Relation.PAYMENTS)),
    Relation.CREDITS: (
        CREDITED_MONEY,
        CREDITED_REFUNDS,
        CREDITS_WITH_MISSING_RATES,
        count_rows(Relation.CREDITS),
    ),
}


P = TypeVar("P", AggregateQuery, CohortReaderQuery, PeoplePageQuery, PersonActivityQuery)


def _query_with_random_rates(random: Random, dataset: RandomDataset, query: P) -> P:
    """Returns the query with random exchange rates in its scope."""
    return replace(query, scope=_scope_with_random_rates(random, dataset, query.scope))


def _scope_with_random_rates(random: Random, dataset: RandomDataset, scope: QueryScope) -> QueryScope:
    """Returns the scope with random rates of USD and GBP on about 40 % of the days around the dataset."""
    first = dataset.start.date()
    published = (
        DayRate(first + timedelta(days=day), currency, Decimal(random.randint(1, 99_999)).scaleb(-4))
        for currency in ("USD", "EUR", "GBP")
        for day in range(-9, DAYS + 3)
        if currency != "EUR" and random.random() < 0.4
    )
    return replace(scope, rates=ExchangeRates.from_published(scope.currency, published))
