"""Conformance tests of the standard dataset against numbers checked by hand."""

from datetime import timedelta

import pytest

from service_core.analytics.measures import (
    Predicate,
    Relation,
    count_rows,
    entry_column,
    sum_column,
    touch_column,
)
from service_core.analytics.people.ports import PeoplePageQuery
from service_core.analytics.ports import CreditRule, Weighting
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.event_store.kit import (
    CONVERTED,
    CREDITED,
    CREDITED_MONEY,
    EVENTS,
    PERSONS,
    SESSION_STARTS,
    SESSIONS,
    VISITORS,
    EventStoreKit,
    Store,
    measure_by_columns,
    measure_value_or_row,
)
from service_core.testing.standard_dataset import (
    CAFE,
    NOW,
    SHOP,
    WEEK,
    cafe_query_scope,
    shop_query_scope,
    standard_events,
)

REVENUE = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
REFUNDS = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
LAST_NON_DIRECT = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)


class GoldenNumbers(EventStoreKit):
    """Tests of the golden numbers of `standard_dataset`."""

    @pytest.fixture
    async def store_with_dataset(self, store: Store) -> Store:
        """Returns the store after the standard dataset was appended."""
        await store.append(standard_events())
        return store

    async def test_counts_session_sums_and_revenue_of_the_shop_week_are_golden(
        self, store_with_dataset: Store
    ) -> None:
        """Events, visitors, persons, sessions, session sums and revenue of the shop's week have the golden values."""
        aggregations = (EVENTS, VISITORS, PERSONS, SESSIONS, SESSION_STARTS, CONVERTED)
        assert await measure_value_or_row(store_with_dataset, shop_query_scope(), *aggregations) == (
            17,
            6,
            4,
            8,
            8,
            2,
        )
        session_columns = ("pageviews", "bounced", "engaged", "has_cart", "has_purchase", "duration")
        sums = tuple(sum_column(column, Relation.SESSIONS) for column in session_columns)
        assert await measure_value_or_row(store_with_dataset, shop_query_scope(), *sums) == (
            9,
            3,
            4,
            1,
            1,
            4389.0,
        )
        assert await measure_value_or_row(store_with_dataset, shop_query_scope(), REVENUE, REFUNDS) == (
            10000,
            0,
        )

    async def test_counts_of_the_cafe_week_are_golden_and_apart_from_the_shop(
        self, store_with_dataset: Store
    ) -> None:
        """The second workspace has its own golden values although it shares ids with the first."""
        aggregations = (EVENTS, VISITORS, SESSIONS, CONVERTED, REVENUE)
        assert await measure_value_or_row(store_with_dataset, cafe_query_scope(), *aggregations) == (
            3,
            1,
            1,
            1,
            700,
        )

    async def test_revenue_by_currency_and_refunds_of_all_shop_days_are_golden(
        self, store_with_dataset: Store
    ) -> None:
        """Revenue by currency, refunds and payments over all days of the shop have the golden values."""
        scope = shop_query_scope(TimeRange(WEEK.start, NOW))
        money = await measure_by_columns(store_with_dataset, scope, REVENUE, "currency")
        assert money == {"USD": 10000, "EUR": 5000}
        assert await measure_value_or_row(
            store_with_dataset, scope, REFUNDS, count_rows(Relation.PAYMENTS)
        ) == (2500, 3)

    async def test_shop_visitors_by_entry_channel_and_sessions_by_country_are_golden(
        self, store_with_dataset: Store
    ) -> None:
        """Visitors by entry channel and sessions by entry country have the golden values."""
        assert await measure_by_columns(store_with_dataset, shop_query_scope(), VISITORS, entry_column("channel")) == {
            "direct": 4, "paid_search": 1, "organic_social": 1, "email": 1, "referral": 1,
        }  # fmt: skip
        assert await measure_by_columns(store_with_dataset, shop_query_scope(), SESSIONS, entry_column("country")) == {
            "DE": 3, "US": 2, "GB": 1, None: 2,
        }  # fmt: skip

    async def test_last_non_direct_credits_of_the_shop_week_are_golden(
        self, store_with_dataset: Store
    ) -> None:
        """Credits and credited money by source have the golden values under the last non-direct touch."""
        source = touch_column("attribution_source")
        credited = await measure_by_columns(
            store_with_dataset, shop_query_scope(), CREDITED, source, credit=LAST_NON_DIRECT
        )
        assert credited == {"google": 1_000_000, "news": 1_000_000}
        money = await measure_by_columns(
            store_with_dataset, shop_query_scope(), CREDITED_MONEY, source, credit=LAST_NON_DIRECT
        )
        assert money == {"google": 10000, "news": 0}

    async def test_people_list_and_touches_of_the_shop_week_are_golden(
        self, store_with_dataset: Store
    ) -> None:
        """The people of the week, and the touches of one person, have the golden values."""
        answer, total_count = await store_with_dataset.list_people_and_total(
            PeoplePageQuery(shop_query_scope(), 10, 0, "events")
        )
        assert total_count == 4
        assert [(p.person, p.email, p.events, p.sessions, p.revenue) for p in answer] == [
            ("u:U-ada", "ada@example.com", 8, 3, 10000),
            ("u:U-bob", None, 6, 3, 0),
            ("v:C1", None, 2, 1, 0),
            ("v:D1", None, 1, 1, 0),
        ]
        bob = await store_with_dataset.list_latest_person_touches(
            shop_query_scope(TimeRange(WEEK.start, NOW)), "u:U-bob"
        )
        assert [touch.source for touch in bob] == ["facebook", "news", "(direct)"]
        assert await store_with_dataset.first_and_last_event_time(
            SHOP
        ) != await store_with_dataset.first_and_last_event_time(CAFE)
