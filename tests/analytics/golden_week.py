"""One week of a shop, with the value of every metric worked out by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from service_core.commerce.subscriptions.models import PaymentKind, SubscriptionStatus
from service_core.delivery.postbacks.postback import Postback, PostbackStatus
from service_core.testing.event_builder import campaign_columns
from tests.commerce.ads.ad_spend_data import ad_campaign, connect_ad_platform, save_spend, spend_row
from tests.commerce.costs.cost_data import item_cost, save_costs
from tests.commerce.subscriptions.subscription_data import (
    CHARGE_PAYMENT,
    MONTHLY,
    connect_revenue_provider,
    save_subscription_facts,
)

WEEK = {"from": "2026-07-01", "to": "2026-07-07"}
ITEMS = ({"sku": "mug", "quantity": 2, "price": 60.25},)

EVENT_VALUES = {
    "visitors": 3, "new_visitors": 3, "returning_visitors": 0, "sessions": 5, "identified_users": 1,
    "active_users_1d": 0, "active_users_7d": 3, "active_users_30d": 3, "session_starts": 5, "pageviews": 4,
    "events": 8, "custom_events": 4, "signups": 1, "leads": 0, "bounce_rate": 0.5, "engagement_rate": 0.5,
    "stickiness": 0.238095, "avg_session_duration": 30.5, "pages_per_session": 1.0, "events_per_session": 1.75,
    "engaged_sessions": 2, "conversions": 2, "purchases": 1, "add_to_carts": 1, "checkouts_started": 0,
    "conversion_rate": 0.666667, "cart_abandonment_rate": 0.0, "gross_revenue": 120.5, "discounts": 0.0,
    "revenue": 120.5, "refunds": 20.5, "net_revenue": 100.0, "shipping": 0.0, "taxes": 0.0, "fees": 0.0,
    "aov": 120.5, "revenue_per_visitor": 40.17, "orders": 1, "refund_count": 1, "new_customers": 1, "customers": 1,
    "refund_rate": 0.170124, "repeat_purchase_rate": 0.0,
    "repeat_purchase_rate_30d": None, "repeat_purchase_rate_60d": None, "repeat_purchase_rate_90d": None, "attributed_conversions": 2, "attributed_orders": 1,
    "attributed_new_customers": 1, "attributed_revenue": 120.5, "attributed_net_revenue": 100.0,
    "attributed_aov": 120.5,
}  # fmt: skip
"""Values of the metrics that follow from events."""

CONNECTED_VALUES = {
    "mrr": 47.0, "arr": 564.0, "mrr_new": 16.0, "mrr_expansion": 5.0, "mrr_contraction": -8.0,
    "mrr_churn": -30.0, "mrr_reactivation": 4.0, "subscription_revenue": 16.0, "active_subscriptions": 5,
    "new_subscriptions": 2, "churned_subscriptions": 1, "trials_started": 1, "trials_converted": 1,
    "failed_payments": 1, "churn_rate": 0.333333, "trial_conversion_rate": 1.0,
    "ad_spend": 60.0, "platform_conversion_value": 150.0, "impressions": 2000, "clicks": 25,
    "platform_conversions": 2, "ctr": 0.0125, "platform_roas": 2.5, "cpc": 2.4, "cpm": 30.0,
    "platform_cpa": 30.0, "attributed_roas": 0.0, "attributed_cpa": 30.0, "attributed_cac": 60.0,
    "mer": 1.666667, "roas": 0.0, "margin": 0.15, "contribution_margin": 0.75, "cogs": 20.0,
    "shipping_costs": 5.0, "gross_profit": 80.0, "contribution_profit": 75.0, "profit": 15.0, "cpa": 30.0,
    "cac": 60.0,
    "postbacks_sent": 3, "postbacks_failed": 1, "postbacks_skipped": 2, "postback_success_rate": 0.75,
}  # fmt: skip
"""Values of the metrics of connected sources, for the same week."""


def add_week_of_visits(story, items=()):
    """The first week of July: V1 buys through Google, V2 signs up through Facebook, V3 only looks.

    The purchase lists `items`.
    """
    google, facebook = (
        campaign_columns("google", "cpc", "spring"),
        campaign_columns("facebook", "paid_social", "reels"),
    )
    story.add_event(
        "page_view", at="2026-07-01T15:00:00", visitor="V1", session="s1", page_path="/",
        page_url="https://www.shop.example/", screen_width=390, **google,
    )  # fmt: skip
    story.add_event("add_to_cart", at="2026-07-01T15:00:05", visitor="V1", session="s1", page_path="/shop")
    story.add_event(
        "purchase",
        at="2026-07-01T15:02:00",
        visitor="V1",
        session="s1",
        revenue=12050,
        order_id="1",
        strong_id="u1",
        event_data={"items": list(items)},
    )
    story.add_event(
        "page_view", at="2026-07-02T15:00:00", visitor="V2", session="s2", page_path="/",
        page_url="https://Shop.example:8443/", screen_width=1440, **facebook,
    )  # fmt: skip
    story.add_event("signup", at="2026-07-02T15:00:02", visitor="V2", session="s2", page_path="/join")
    story.add_event(
        "page_view", at="2026-07-02T16:00:00", visitor="V3", session="s3", page_path="/",
        page_url="https://blog.example/", screen_width=1024,
    )  # fmt: skip
    story.add_event("page_view", at="2026-07-05T16:00:00", visitor="V3", session="s4", page_path="/")
    training = {"bot_reason": "known_agent", "crawler": "GPTBot", "crawler_class": "ai_training"}
    story.add_event(
        "page_view",
        at="2026-07-05T17:00:00",
        visitor="B1",
        session="s9",
        page_path="/",
        is_bot=True,
        **training,
    )
    story.add_event(
        "refund", at="2026-07-06T16:00:00", visitor="V1", session="s5", revenue=-2050, order_id="1"
    )
    return story


async def connect_all_sources(shop):
    """Connects an ad platform and a revenue provider, and saves spend, costs, subscriptions and postbacks."""
    await connect_ad_platform(shop, "meta")
    await save_spend(
        shop,
        spend_row(
            "meta", ad_campaign("c1"), "2026-07-01", spend=50_00, impressions=1000, clicks=20, conversions=2,
            conversion_value=150_00,
        ),
        spend_row(
            "meta", ad_campaign("c1"), "2026-07-02", spend=10_00, impressions=1000, clicks=5, conversions=0,
            conversion_value=0,
        ),
    )  # fmt: skip
    await save_costs(shop, item_cost("mug", 10, 2.5))
    await connect_revenue_provider(shop)
    await save_subscriptions(shop)
    await save_postbacks(shop)


async def save_subscriptions(shop):
    """Three subscriptions of 60.00 a month before the week; in it an upgrade, a downgrade, an end and three starts."""

    def state(id_, day, amount, **fields):
        at = datetime(*day, 12, tzinfo=UTC)
        first = {"subscription_id": id_, "message_id": f"{id_}-{at:%m%d}", "at": at, "amount": amount}
        return replace(MONTHLY, **{"started_at": at} | first | fields)

    june, started = (2026, 6, 1), {"started_at": datetime(2026, 6, 1, 12, tzinfo=UTC)}
    await save_subscription_facts(
        shop,
        state("upgraded", june, 10_00),
        state("upgraded", (2026, 7, 2), 15_00, **started),
        state("downgraded", june, 20_00),
        state("downgraded", (2026, 7, 3), 12_00, **started),
        state("ended", june, 30_00),
        state("ended", (2026, 7, 4), 30_00, status=SubscriptionStatus.EXPIRED, **started),
        state("new", (2026, 7, 2), 7_00),
        state("returned", june, 4_00),
        state("returned", (2026, 6, 15), 4_00, status=SubscriptionStatus.EXPIRED, **started),
        state("returned", (2026, 7, 5), 4_00, **started),
        state("tried", (2026, 7, 1), 9_00, status=SubscriptionStatus.TRIALING),
        state("tried", (2026, 7, 6), 9_00, started_at=datetime(2026, 7, 1, 12, tzinfo=UTC)),
        payments=[
            replace(
                CHARGE_PAYMENT, subscription_id="tried", message_id="c3",
                at=datetime(2026, 7, 6, 12, tzinfo=UTC), amount=9_00,
            ),
            replace(CHARGE_PAYMENT, subscription_id="new", at=datetime(2026, 7, 2, 12, tzinfo=UTC), amount=7_00),
            replace(
                CHARGE_PAYMENT, subscription_id="upgraded", message_id="c2",
                at=datetime(2026, 7, 3, 12, tzinfo=UTC), kind=PaymentKind.FAILED_PAYMENT,
            ),
        ],
    )  # fmt: skip


async def save_postbacks(shop):
    """Six postbacks with a final status on July 3."""
    done = datetime(2026, 7, 3, 12, tzinfo=UTC)
    rule_id = uuid4()
    statuses = [PostbackStatus.SENT] * 3 + [PostbackStatus.FAILED] + [PostbackStatus.SKIPPED] * 2
    postbacks = [
        Postback(
            id=uuid4(), workspace_id=shop.workspace.id, rule_id=rule_id, event_id=f"e{number}", event_at=done,
            platform="meta", account_id="act_1", asset_id="p1", platform_event="Purchase",
            platform_event_id=f"o{number}", created_at=done, next_attempt_at=None, status=status, done_at=done,
        )
        for number, status in enumerate(statuses)
    ]  # fmt: skip
    await shop.service.ports.workspace.postback_outbox.add_postbacks_skipping_duplicates(
        postbacks, {rule_id: timedelta()}
    )
