"""Questions about attribution, ads, subscriptions, events and people, bots, what nobody knows, spelling and the ledger."""

import json
from fractions import Fraction

import polars as pl

from tests.assistant import ads_and_credits
from tests.assistant import metrics as m
from tests.assistant.oracle import half_even, ratio
from tests.assistant.question import Question, Unknown, field_of, table
from tests.assistant.questions_of_visits import JULY, JUNE, LATELY, MAY, by, is_, total, unknown


def credited(text, model, group, column, days=JUNE, **arguments):
    options = {
        name: arguments[given]
        for given, name in (("window_days", "window"), ("event_name", "name"))
        if given in arguments
    }
    key = {
        "source": "attribution_source",
        "channel": "channel",
        "campaign": "utm_campaign",
        "medium": "attribution_medium",
    }[group]
    return Question(
        text,
        "get_attribution",
        days,
        {"model": model, "group_by": group} | arguments,
        table("campaigns", key, "conversions"),
        lambda t: ads_and_credits.attributed(t, days, model, column, **options),
    )


def credited_money(text, model, group, column, days=JUNE):
    return Question(
        text,
        "get_attribution",
        days,
        {"model": model, "group_by": group},
        table("campaigns", column, "revenue"),
        lambda t: ads_and_credits.attributed_revenue(t, days, model, column),
    )


ATTRIBUTION = [
    credited("Conversions by channel, last non-direct?", "last_non_direct", "channel", "channel"), credited("By source, first touch?", "first_touch", "source", "attribution_source"),
    credited("By channel, linear?", "linear", "channel", "channel"),
    credited("By channel, time decay?", "time_decay", "channel", "channel"),
    credited("By channel within 7 days before the conversion?", "last_non_direct", "channel", "channel", window_days=7),
    credited("Purchases by channel, linear?", "linear", "channel", "channel", event_name="purchase"),
    credited_money("Revenue by channel, last non-direct?", "last_non_direct", "channel", "channel"), credited_money("Revenue by source, first touch?", "first_touch", "source", "attribution_source"),
    Question("How many conversions of June have no touch?", "get_attribution", JUNE, {"group_by": "channel"}, field_of("unattributed", "conversions"), lambda t: ads_and_credits.unattributed(t, JUNE)),
    total("Attributed revenue of all channels", "attributed_revenue", JUNE, lambda t: half_even(sum(Fraction(str(v)) for v in ads_and_credits.attributed_revenue(t, JUNE, "last_non_direct", "channel").values()))),
    by("Attributed conversions by campaign, first touch", "attributed_conversions", "utm_campaign", JUNE, lambda t: ads_and_credits.attributed(t, JUNE, "first_touch", "utm_campaign"), attribution={"model": "first_touch", "window_days": 30}),
]  # fmt: skip


ADS = [
    total("How much was spent on ads", "ad_spend", JUNE, lambda t: ads_and_credits.spend(t, JUNE)),
    by("Spend by platform", "ad_spend", "platform", JUNE, lambda t: ads_and_credits.spend_by(t, JUNE, "platform")), by("Spend by campaign", "ad_spend", "campaign_name", MAY, lambda t: ads_and_credits.spend_by(t, MAY, "name")),
    total("Clicks on ads", "clicks", JUNE, lambda t: ads_and_credits.delivered(t, JUNE, "clicks")),
    total("Cost of a click", "cpc", JUNE, lambda t: ads_and_credits.per_spend(t, JUNE, ads_and_credits.delivered(t, JUNE, "clicks"))),
    total("ROAS Google claims", "platform_roas", JUNE, lambda t: ratio(Fraction(ads_and_credits.delivered(t, JUNE, "conversion_value", "google")), ads_and_credits.spend_cents(t, JUNE, "google")), filters=is_("platform", "google")),
    total("Cost of a conversion Google claims", "platform_cpa", JUNE, lambda t: ads_and_credits.per_spend(t, JUNE, ads_and_credits.delivered(t, JUNE, "conversions", "google"), platform="google"), filters=is_("platform", "google")),
    total("Net revenue over spend of all (MER)", "mer", MAY, lambda t: ratio(Fraction(str(m.paid(t, "net_revenue", MAY))) * 100, ads_and_credits.spend_cents(t, MAY))),
    total("Spend per conversion", "cpa", MAY, lambda t: ads_and_credits.per_spend(t, MAY, m.traffic(t, "conversions", MAY))), total("Spend per new customer", "cac", MAY, lambda t: ads_and_credits.per_spend(t, MAY, m.paid(t, "new_customers", MAY))),
    Question("Spend of each campaign of Meta in May, in its currency?", "get_ads", MAY, {"platform": "meta"}, table("ads", "name", "spend"), lambda t: {"spring_sale": ads_and_credits.delivered(t, MAY, "spend", "meta") / 100}),
    Question("Total spend of ads in June in the shop's currency?", "get_ads", JUNE, {}, field_of("totals", "spend"), lambda t: ads_and_credits.spend(t, JUNE)),
    total("ROAS of connected platforms before TikTok began", "roas", MAY, lambda t: ads_and_credits.roas(t, MAY)),
]  # fmt: skip

CLUB = ("2026-06-01", "2026-06-30")
SUBSCRIPTIONS = [
    total("Monthly recurring revenue at the end", "mrr", JUNE, lambda t: ads_and_credits.mrr(t, JUNE)), total("And at the end of May", "mrr", MAY, lambda t: ads_and_credits.mrr(t, MAY)),
    total("Yearly recurring revenue", "arr", JUNE, lambda t: ads_and_credits.arr(t, JUNE)), total("Active subscriptions at the end", "active_subscriptions", JUNE, lambda t: ads_and_credits.active_subscriptions(t, JUNE)),
    total("New subscriptions", "new_subscriptions", JUNE, lambda t: ads_and_credits.started(t, JUNE)),
    total("Lost subscriptions", "churned_subscriptions", JUNE, lambda t: len(ads_and_credits.churned(t, JUNE))), total("Churn rate", "churn_rate", JUNE, lambda t: ads_and_credits.churn_rate(t, JUNE)),
    total("Trials begun", "trials_started", MAY, lambda t: ads_and_credits.subscription_count(t, MAY, name="trial_started")),
    total("Failed payments in June", "failed_payments", JUNE, lambda t: ads_and_credits.subscription_count(t, JUNE, name="billing_failed")),
    by("MRR by plan", "mrr", "plan", JUNE, lambda t: ads_and_credits.mrr(t, JUNE, "tier")),
    Question("Do the movements of MRR in June add up?", "get_subscriptions", JUNE, {}, lambda a: [a["summary"]["movements"]["start_mrr"], a["summary"]["movements"]["end_mrr"]], lambda t: [ads_and_credits.mrr_at(t, t.start_of(JUNE)), ads_and_credits.mrr(t, JUNE)]),
]  # fmt: skip


def listed(text, days, arguments, where):
    return Question(
        text,
        "list_events",
        days,
        {"limit": 1, "include_total": True} | arguments,
        field_of("total_count"),
        lambda t: t.between(days, t.events, where).height,
    )


EVENTS = [
    listed("How many events named search were sent in June?", JUNE, {"event_name": "search"}, pl.col("name") == "search"),
    listed("How many searches for gift?", JUNE, {"event_name": "search", "property_filters": json.dumps({"term": "gift"})}, pl.col("term") == "gift"),
    listed("How many orders above 40, as sent?", JUNE, {"event_name": "purchase,order_completed", "property_filters": json.dumps([{"key": "value", "op": "gt", "value": 40}])}, (pl.col("name") == "purchase") & (pl.col("minor") > 4000) & (pl.col("provider") == "tracked")),
    listed("How many events came in visits of the weekly newsletter?", JUNE, {"utm_campaign": "weekly"}, (pl.col("utm_campaign") == "weekly") & pl.col("own_values")),
    listed("How many events came from the visitor a2?", (MAY[0], JUNE[1]), {"visitor_id": "a2"}, pl.col("visitor") == "a2"),
    Question("When was the latest refund of June?", "list_events", JUNE, {"event_name": "refund", "limit": 1}, lambda a: a["events"][0]["timestamp"][:19], lambda t: t.between(JUNE, t.events, pl.col("name") == "refund")["at"].max().isoformat()[:19]),
    Question("How many persons were active in June?", "list_users", JUNE, {"limit": 1}, field_of("total_count"), lambda t: t.between(JUNE)["person"].n_unique()),
    Question("How many of them have an account?", "list_users", JUNE, {"limit": 1, "identified": True}, field_of("total_count"), lambda t: m.traffic(t, "identified_users", JUNE)),
    Question("Which person brought most revenue in June, and how much?", "list_users", JUNE, {"limit": 1, "sort": "revenue"}, field_of("users", 0, "revenue"), lambda t: max(m.paid(t, "revenue", JUNE, by="person").values())),
    Question("Which devices belong to the renamed account of the first renamed person?", "get_user", None, {"userId": "RENAMED"}, lambda a: sorted(a["user"]["visitor_ids"]), ads_and_credits.devices_of_renamed),
    Question("Which countries does the shop know, since 10 April?", "list_dimension_values", ("2026-04-10", "2026-07-08"), {"dimension": "country"}, lambda a: sorted(v["value"] for v in a["values"]), lambda t: ["(not set)", *sorted(t.events["country"].drop_nulls().unique())]),
]  # fmt: skip

BOTS = [
    total("Page views with bots", "pageviews", JUNE, lambda t: m.traffic(t, "pageviews", JUNE, frame=t.all), include_bots=True),
    by("Page views of bots and people", "pageviews", "is_bot", JUNE, lambda t: {"true": t.between(JUNE, t.all, pl.col("bot")).height, "false": m.traffic(t, "pageviews", JUNE)}, include_bots=True),
]  # fmt: skip

UNKNOWN = [
    unknown("What is the profit (no costs are known)", "profit", JUNE, "no_cost_data"), unknown("Cost of goods", "cogs", JUNE, "no_cost_data"),
    unknown("Conversions all platforms claim", "platform_conversions", JUNE, "multiple_platforms"), unknown("ROAS all platforms claim", "platform_roas", JUNE, "multiple_platforms"),
    unknown("Revenue of the days with an order in pounds, which have no rate", "revenue", LATELY, "missing_fx_rate"),
    unknown("ROAS while TikTok, which is not connected, brings visits", "roas", JULY, "no_ad_platform"), unknown("Spend on TikTok", "ad_spend", JUNE, "no_ad_platform", filters=is_("platform", "tiktok")),
    unknown("Spend per new customer while TikTok's spend is unknown", "cac", JULY, "complete"), unknown("What will revenue be next month", "revenue_forecast", JUNE, "unknown_metric"),
    unknown("Revenue by ad group (money has no ad groups)", "revenue", JUNE, "incompatible_dimension", dimensions=["ad_group_name"]),
    Question("Markov credits of June by channel?", "get_attribution", JUNE, {"model": "markov", "group_by": "channel"}, field_of("campaigns"), lambda _: Unknown("insufficient_data")),
    Question("Total of what Meta and Google claim to have sold in June?", "get_ads", JUNE, {}, field_of("totals", "conversion_value"), lambda _: Unknown("multiple_platforms")),
    Question("Ads of Pinterest in June?", "get_ads", JUNE, {"platform": "pinterest"}, field_of("ads"), lambda _: Unknown("invalid_platform")),
]  # fmt: skip

SPELLING = [
    by("Visits by newsletter, misspelt links too", "sessions", "utm_source", JUNE, lambda t: m.traffic(t, "sessions", JUNE, by="utm_source", where=pl.col("utm_source") == "newsletter"), filters=is_("utm_source", "newsletter")),
    Question("Does a like name hide visits of the newsletter?", "analytics_query", JUNE, {"metrics": ["sessions"], "filters": is_("utm_source", "newsletter")}, lambda a: [one["suggestion"] for one in a["meta"]["did_you_mean"]], lambda _: ["Newsleter"]),
    Question("Visits from Facebok?", "analytics_query", JUNE, {"metrics": ["sessions"], "filters": is_("utm_source", "facebok")}, lambda a: [a["totals"]["sessions"], a["meta"]["did_you_mean"][0]["suggestion"]], lambda _: [0, "facebook"]),
]  # fmt: skip

LEDGER = [
    Question("How many events were rejected on the day of the outage?", "get_ledger", ("2026-06-16", "2026-06-16"), {}, field_of("totals", "rejected"), lambda t: len(t.shop.refused)),
    Question("How many events were repeated in June?", "get_ledger", JUNE, {}, field_of("totals", "duplicate"), lambda t: ads_and_credits.repeated(t, JUNE)),
]  # fmt: skip
