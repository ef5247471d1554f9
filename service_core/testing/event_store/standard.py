"""The standard world, answered with the numbers checked by hand (`testing.world`)."""

from datetime import timedelta

import pytest

from service_core.insight.measures import Predicate, Relation, count, total
from service_core.insight.people.ports import PeoplePage
from service_core.insight.ports import Credit, Weighting
from service_core.kernel.ranges import Span
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
    split_by,
)
from service_core.testing.world import CAFE, NOW, SHOP, WEEK, cafe_scan, shop_scan, standard_world

REVENUE = total("amount", Relation.MONEY, Predicate("kind", value="charge"))
REFUNDS = total("amount", Relation.MONEY, Predicate("kind", value="refund"))
LAST_NON_DIRECT = Credit(Weighting.LAST, timedelta(days=30), drop_direct=True)


class Standard(Kit):
    """Golden numbers of the standard world."""

    @pytest.fixture
    async def told(self, store: Store) -> Store:
        """The store with the standard world in it."""
        await store.append(standard_world())
        return store

    async def test_the_week_of_the_shop(self, told: Store) -> None:
        leaves = (EVENTS, VISITORS, PERSONS, SESSIONS, SESSION_STARTS, CONVERTED)
        assert await measure(told, shop_scan(), *leaves) == (17, 6, 4, 8, 8, 2)
        facts = ("pageviews", "bounced", "engaged", "has_cart", "has_purchase", "duration")
        sums = tuple(total(fact, Relation.SESSIONS) for fact in facts)
        assert await measure(told, shop_scan(), *sums) == (9, 3, 4, 1, 2, 4389.0)
        assert await measure(told, shop_scan(), REVENUE, REFUNDS) == (10000, 0)

    async def test_the_week_of_the_cafe_is_its_own(self, told: Store) -> None:
        leaves = (EVENTS, VISITORS, SESSIONS, CONVERTED, REVENUE)
        assert await measure(told, cafe_scan(), *leaves) == (3, 1, 1, 1, 700)

    async def test_the_shop_over_all_of_it(self, told: Store) -> None:
        scan = shop_scan(Span(WEEK.start, NOW))
        money = await split_by(told, scan, REVENUE, "currency")
        assert money == {"USD": 10000, "EUR": 5000}
        assert await measure(told, scan, REFUNDS, count(Relation.MONEY)) == (2500, 3)

    async def test_where_the_visitors_of_the_week_came_from(self, told: Store) -> None:
        assert await split_by(told, shop_scan(), VISITORS, "entry.channel") == {
            "direct": 4, "paid_search": 1, "organic_social": 1, "email": 1, "referral": 1,
        }  # fmt: skip
        assert await split_by(told, shop_scan(), SESSIONS, "entry.country") == {
            "DE": 3, "US": 2, "GB": 1, None: 2,
        }  # fmt: skip

    async def test_who_gets_credit_for_the_week(self, told: Store) -> None:
        source = "touch.attribution_source"
        credited = await split_by(told, shop_scan(), CREDITED, source, credit=LAST_NON_DIRECT)
        assert credited == {"google": 1_000_000, "news": 1_000_000}
        money = await split_by(told, shop_scan(), CREDITED_MONEY, source, credit=LAST_NON_DIRECT)
        assert money == {"google": 10000, "news": 0}

    async def test_who_was_there(self, told: Store) -> None:
        found, total_count = await told.people(PeoplePage(shop_scan(), 10, 0, "events"))
        assert total_count == 4
        assert [(p.person, p.email, p.events, p.sessions, p.revenue) for p in found] == [
            ("u:U-ada", "ada@example.com", 8, 3, 10000),
            ("u:U-bob", None, 6, 3, 0),
            ("v:C1", None, 2, 1, 0),
            ("v:D1", None, 1, 1, 0),
        ]
        bob = await told.touches(shop_scan(Span(WEEK.start, NOW)), "u:U-bob")
        assert [touch.source for touch in bob] == ["facebook", "news", "(direct)"]
        assert await told.bounds(SHOP) != await told.bounds(CAFE)
