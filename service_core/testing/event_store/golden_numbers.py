"""The standard world, answered with the numbers checked by hand (`testing.world`)."""

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
    Kit,
    Store,
    measure,
    measure_by_columns,
)
from service_core.testing.standard_dataset import CAFE, NOW, SHOP, WEEK, cafe_scan, shop_scan, standard_events

REVENUE = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="charge"))
REFUNDS = sum_column("amount", Relation.PAYMENTS, Predicate("kind", value="refund"))
LAST_NON_DIRECT = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)


class GoldenNumbers(Kit):
    """Golden numbers of the standard world."""

    @pytest.fixture
    async def told(self, store: Store) -> Store:
        """The store with the standard world in it."""
        await store.append(standard_events())
        return store

    async def test_the_week_of_the_shop(self, told: Store) -> None:
        leaves = (EVENTS, VISITORS, PERSONS, SESSIONS, SESSION_STARTS, CONVERTED)
        assert await measure(told, shop_scan(), *leaves) == (17, 6, 4, 8, 8, 2)
        facts = ("pageviews", "bounced", "engaged", "has_cart", "has_purchase", "duration")
        sums = tuple(sum_column(fact, Relation.SESSIONS) for fact in facts)
        assert await measure(told, shop_scan(), *sums) == (9, 3, 4, 1, 2, 4389.0)
        assert await measure(told, shop_scan(), REVENUE, REFUNDS) == (10000, 0)

    async def test_the_week_of_the_cafe_is_its_own(self, told: Store) -> None:
        leaves = (EVENTS, VISITORS, SESSIONS, CONVERTED, REVENUE)
        assert await measure(told, cafe_scan(), *leaves) == (3, 1, 1, 1, 700)

    async def test_the_shop_over_all_of_it(self, told: Store) -> None:
        scan = shop_scan(TimeRange(WEEK.start, NOW))
        money = await measure_by_columns(told, scan, REVENUE, "currency")
        assert money == {"USD": 10000, "EUR": 5000}
        assert await measure(told, scan, REFUNDS, count_rows(Relation.PAYMENTS)) == (2500, 3)

    async def test_where_the_visitors_of_the_week_came_from(self, told: Store) -> None:
        assert await measure_by_columns(told, shop_scan(), VISITORS, entry_column("channel")) == {
            "direct": 4, "paid_search": 1, "organic_social": 1, "email": 1, "referral": 1,
        }  # fmt: skip
        assert await measure_by_columns(told, shop_scan(), SESSIONS, entry_column("country")) == {
            "DE": 3, "US": 2, "GB": 1, None: 2,
        }  # fmt: skip

    async def test_who_gets_credit_for_the_week(self, told: Store) -> None:
        source = touch_column("attribution_source")
        credited = await measure_by_columns(told, shop_scan(), CREDITED, source, credit=LAST_NON_DIRECT)
        assert credited == {"google": 1_000_000, "news": 1_000_000}
        money = await measure_by_columns(told, shop_scan(), CREDITED_MONEY, source, credit=LAST_NON_DIRECT)
        assert money == {"google": 10000, "news": 0}

    async def test_who_was_there(self, told: Store) -> None:
        found, total_count = await told.list_people(PeoplePageQuery(shop_scan(), 10, 0, "events"))
        assert total_count == 4
        assert [(p.person, p.email, p.events, p.sessions, p.revenue) for p in found] == [
            ("u:U-ada", "ada@example.com", 8, 3, 10000),
            ("u:U-bob", None, 6, 3, 0),
            ("v:C1", None, 2, 1, 0),
            ("v:D1", None, 1, 1, 0),
        ]
        bob = await told.list_person_touches(shop_scan(TimeRange(WEEK.start, NOW)), "u:U-bob")
        assert [touch.source for touch in bob] == ["facebook", "news", "(direct)"]
        assert await told.event_time_range(SHOP) != await told.event_time_range(CAFE)
