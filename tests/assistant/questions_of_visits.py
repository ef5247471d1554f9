"""The questions, by area. Each line: the question, the call, what is taken of the answer, and what the raw rows say."""

import json
from fractions import Fraction
from functools import partial
from statistics import mean, median

import polars as pl

from tests.assistant import ads_and_credits, cohorts
from tests.assistant import metrics as m
from tests.assistant.oracle import half_even, ratio
from tests.assistant.question import Question, Unknown, field_of, table

MAY, JUNE, JULY = ("2026-05-01", "2026-05-31"), ("2026-06-01", "2026-06-30"), ("2026-07-01", "2026-07-05")
WEEK, BEFORE = ("2026-06-22", "2026-06-28"), ("2026-06-15", "2026-06-21")
EVER, LATELY = ("2026-04-27", "2026-06-19"), ("2026-07-06", "2026-07-08")
SPRING = ("2026-05-01", "2026-06-19")
PROPERTY = {"search term": "term", "signup plan": "plan"}


def is_(dimension, value, op="eq"):
    """A filter as a list of one."""
    return [{"dimension": dimension, "op": op, "value": value}]


def total(text, metric, days, expected=None, **arguments):
    """A metric of some days."""
    count = partial(m.paid if metric in m.MONEY else m.traffic, metric=metric, days=days)
    return Question(
        f"{text}, {days[0]} to {days[1]}?", "analytics_query", days, {"metrics": [metric]} | arguments,
        field_of("totals", metric), expected or (count),
    )  # fmt: skip


def by(text, metric, dimension, days, expected=None, column=None, **arguments):
    """A metric by a dimension."""
    count = partial(
        m.paid if metric in m.MONEY else m.traffic, metric=metric, days=days, by=column or dimension
    )
    return Question(
        f"{text}, {days[0]} to {days[1]}?", "analytics_query", days, {"metrics": [metric], "dimensions": [dimension]} | arguments,
        table("rows", dimension, metric), expected or (count),
    )  # fmt: skip


def filtered(text, metric, days, dimension, value, where, op="eq"):
    """A metric of what a filter leaves."""
    count = partial(m.paid if metric in m.MONEY else m.traffic, metric=metric, days=days, where=where)
    return total(text, metric, days, count, filters=is_(dimension, value, op))


def unknown(text, metric, days, reason, **arguments):
    """A metric that nobody can know."""
    return Question(
        f"{text}, {days[0]} to {days[1]}?",
        "analytics_query",
        days,
        {"metrics": [metric]} | arguments,
        field_of("totals", metric),
        lambda _: Unknown(reason),
    )


TRAFFIC = [
    *(total(text, metric, JUNE) for text, metric in (
        ("How many visitors came", "visitors"), ("How many of them were new", "new_visitors"), ("How many had been here before", "returning_visitors"),
        ("How many visits were there", "sessions"), ("How many pages were viewed", "pageviews"),
        ("How many events arrived", "events"), ("How many people signed up", "signups"),
        ("How many carts were filled", "add_to_carts"), ("How many purchases were there", "purchases"),
        ("How many persons with an account came", "identified_users"), ("Weekly active users at the end", "active_users_7d"),
        ("Monthly active users at the end", "active_users_30d"), ("What share of visits bounced", "bounce_rate"), ("What share was engaged", "engagement_rate"),
        ("How long was a visit", "avg_session_duration"), ("How many pages had a visit", "pages_per_session"),
        ("How many conversions", "conversions"), ("What is the conversion rate", "conversion_rate"),
        ("What share of carts was abandoned", "cart_abandonment_rate"),
    )),
    *(total(text, metric, MAY) for text, metric in (
        ("How many visitors came", "visitors"), ("How many visits were there", "sessions"),
    )),
    total("How many visitors came in the week", "visitors", WEEK), total("How many active users that day", "active_users_1d", ("2026-06-24", "2026-06-24")),
    filtered("Visitors from Germany", "visitors", JUNE, "country", "DE", pl.col("country") == "DE"),
    filtered("Page views of the mug", "pageviews", JUNE, "page_path", "/mug", pl.col("path") == "/mug"),
    filtered("Visits from e-mail", "sessions", JUNE, "channel", "email", pl.col("channel") == "email"),
    filtered("Visits that did not come directly", "sessions", JUNE, "channel", "direct", pl.col("channel") != "direct", "neq"),
    filtered("Visitors on phones", "visitors", JUNE, "device_type", ["mobile", "tablet"], pl.col("device_type") == "mobile", "in"),
    filtered("Visits with a campaign that begins with s", "sessions", MAY, "utm_campaign", "S", pl.col("utm_campaign").str.starts_with("s"), "starts_with"),
    filtered("Searches for gift", "custom_events", JUNE, "property:term", "gift", pl.col("term") == "gift"),
    Question("Visitors, visits and page views, overview of June", "get_overview", JUNE, {}, lambda a: [a["visitors_total"], a["sessions_total"], a["pageviews_total"]], lambda t: [m.traffic(t, name, JUNE) for name in ("visitors", "sessions", "pageviews")]),
    Question("Which custom events happened how often in June?", "get_overview", JUNE, {}, field_of("custom_event_counts"), lambda t: m.traffic(t, "events", JUNE, by="sent_name", where=pl.col("name") != "page_view")),
]  # fmt: skip

BREAKDOWNS = [
    *(by(f"Visitors by {dimension}", "visitors", dimension, JUNE) for dimension in (
        "channel", "attribution_source", "attribution_medium", "utm_campaign", "country", "city", "device_type",
        "browser", "landing_page", "screen_class", "exit_page",
    )),
    *(by(f"Visits by {dimension}", "sessions", dimension, MAY) for dimension in ("channel", "utm_campaign")),
    by("Page views by page", "pageviews", "page_path", JUNE, column="path"), by("Events by name", "events", "event_name", JUNE, column="sent_name"),
    by("Events by transport", "events", "source", JUNE), by("Searches by term", "custom_events", "property:term", JUNE, lambda t: m.traffic(t, "custom_events", JUNE, by="term", where=pl.col("term").is_not_null()), filters=[*is_("property:term", None, "is_set")[:0], {"dimension": "property:term", "op": "is_set"}]),
    by("Bounce rate by device", "bounce_rate", "device_type", JUNE), by("Conversion rate by channel", "conversion_rate", "channel", JUNE, lambda t: _conversion_rates(t, "channel", JUNE)),
    by("Visitors by referrer", "visitors", "referrer_host", JUNE, lambda t: {k.replace("(not set)", "(direct)"): v for k, v in m.traffic(t, "visitors", JUNE, by="referrer_host").items()}),
    by("Visitors by host", "visitors", "hostname", JUNE, lambda t: {"shop.example": m.traffic(t, "visitors", JUNE)}),
    by("New and returning visitors", "visitors", "new_vs_returning", JUNE, lambda t: {"new": m.traffic(t, "new_visitors", JUNE), "returning": m.traffic(t, "returning_visitors", JUNE)}),
    Question("Which referrers brought visitors in June?", "get_traffic", JUNE, {}, table("data", "name", "count"), lambda t: {k.replace("(not set)", "(direct)"): v for k, v in m.traffic(t, "visitors", JUNE, by="referrer_host").items()}),
    Question("Most viewed pages of June?", "get_traffic", JUNE, {"type": "page"}, table("data", "name", "count"), lambda t: m.traffic(t, "pageviews", JUNE, by="path")),
    Question("Browsers of June?", "get_devices", JUNE, {}, table("data", "name", "count"), lambda t: m.traffic(t, "visitors", JUNE, by="browser")),
    Question("Cities of June?", "get_locations", JUNE, {"type": "city"}, table("data", "name", "count"), lambda t: m.traffic(t, "visitors", JUNE, by="city")),
]  # fmt: skip


def _conversion_rates(t, column, days):
    converted, visitors = (m.traffic(t, name, days, by=column) for name in ("conversions", "visitors"))
    return {
        label: rate for label, count in visitors.items() if (rate := ratio(converted.get(label, 0), count))
    }


def dates(value):
    """Picks local date -> value of bucketed rows, empty buckets left out."""
    return lambda answer: {row["date"]: row[value] for row in answer["rows"] if row[value]}


def _daily(t, metric, days, unit, length):
    return {start[:length]: value for start, value in m.series(t, metric, days, unit).items() if value}


SERIES = [
    Question("Visitors by day in the week of 22 June?", "analytics_query", WEEK, {"metrics": ["visitors"], "interval": "day"}, dates("visitors"), lambda t: _daily(t, "visitors", WEEK, "1d", 10)),
    Question("Page views by hour on 24 June (half-hour zone)?", "analytics_query", ("2026-06-24", "2026-06-24"), {"metrics": ["pageviews"], "interval": "hour"}, lambda a: {row["date"][:13].replace("T", " "): row["pageviews"] for row in a["rows"] if row["pageviews"]}, lambda t: _daily(t, "pageviews", ("2026-06-24", "2026-06-24"), "1h", 13)),
    Question("Visits by week, 4 to 31 May?", "analytics_query", ("2026-05-04", "2026-05-31"), {"metrics": ["sessions"], "interval": "week"}, dates("sessions"), lambda t: _daily(t, "sessions", ("2026-05-04", "2026-05-31"), "1w", 10)),
    Question("Orders by day in June?", "analytics_query", JUNE, {"metrics": ["orders"], "interval": "day"}, dates("orders"), lambda t: {str(day): count for day, count in t.between(JUNE, t.payments.filter(pl.col("paid") == 1)).group_by("day").len().iter_rows()}),
    Question("How many page views arrived on the day of the outage, 16 June?", "analytics_query", ("2026-06-16", "2026-06-16"), {"metrics": ["pageviews"]}, field_of("totals", "pageviews"), lambda t: m.traffic(t, "pageviews", ("2026-06-16", "2026-06-16"))),
    Question("Conversions by day in the week of 22 June?", "analytics_query", WEEK, {"metrics": ["conversions"], "interval": "day"}, dates("conversions"), lambda t: {str(day): count for day, count in t.conversions(WEEK).group_by("day").len().iter_rows()}),
]  # fmt: skip


def _changes(t, metric, column, days, before):
    now, then = (m.traffic(t, metric, span, by=column) for span in (days, before))
    return {label: [then.get(label, 0), now.get(label, 0)] for label in {*now, *then}}


def then_and_now(dimension, metric):
    """Picks label -> [before, now] of an answer with a comparison."""

    def pick(answer):
        now, then = (
            {row[dimension]: row[metric] or 0 for row in rows}
            for rows in (answer["rows"], answer["comparison"]["rows"])
        )
        return {
            label: [then.get(label, 0), now.get(label, 0)]
            for label in {*now, *then}
            if then.get(label) or now.get(label)
        }

    return pick


def compared(text, metric, dimension, column=None):
    arguments = {"metrics": [metric], "dimensions": [dimension], "compare": {"from": MAY[0], "to": MAY[1]}}
    return Question(
        text,
        "analytics_query",
        JUNE,
        arguments,
        then_and_now(dimension, metric),
        lambda t: _changes(t, metric, column or dimension, JUNE, MAY),
    )


VANISHED = [
    compared("Which campaigns brought fewer visitors in June than in May, vanished ones too?", "visitors", "utm_campaign"),
    compared("Visits by channel in June and in May?", "sessions", "channel"),
    Question("The one campaign with most visitors in June, and those that were larger in May?", "analytics_query", JUNE, {"metrics": ["visitors"], "dimensions": ["utm_campaign"], "compare": {"from": MAY[0], "to": MAY[1]}, "filters": is_("channel", "paid_social")}, then_and_now("utm_campaign", "visitors"), lambda t: {label: pair for label, pair in _changes(t, "visitors", "utm_campaign", JUNE, MAY).items() if label in ("spring_sale", "summer_launch", "tiktok_test")}),
    Question("How did visitors change from the week of 15 June to that of 22 June?", "get_metrics", WEEK, {"metrics": ["visitors"], "compare": True}, field_of("metrics", 0, "change"), lambda t: ratio(m.traffic(t, "visitors", WEEK) - m.traffic(t, "visitors", BEFORE), m.traffic(t, "visitors", BEFORE))),
    Question("By how many points did the bounce rate change from May to June?", "get_metrics", JUNE, {"metrics": ["bounce_rate"], "compare": {"from": MAY[0], "to": MAY[1]}}, field_of("metrics", 0, "change"), lambda t: half_even(100 * (m.bounces(t, JUNE) - m.bounces(t, MAY)), 6)),
]  # fmt: skip


def _contributions(t, metric, column, days, before):
    return {
        label: now - then
        for label, (then, now) in _changes(t, metric, column, days, before).items()
        if now != then
    }


def _money_contributions(t, column, days, before):
    now, then = (m.paid(t, "revenue", span, by=column) for span in (days, before))
    return {
        label: half_even(Fraction(str(now.get(label, 0))) - Fraction(str(then.get(label, 0))))
        for label in {*now, *then}
        if now.get(label, 0) != then.get(label, 0)
    }


def why(text, metric, dimension, expected, pick=None, days=JUNE, before=MAY):
    arguments = {
        "metric": metric,
        "dimensions": [dimension],
        "compare": {"from": before[0], "to": before[1]},
        "limit": 50,
    }
    return Question(
        text, "explain_change", days, arguments, pick or table("drivers", "value", "contribution"), expected
    )


EXPLAIN = [
    why("Why did visits change from May to June, by channel?", "sessions", "channel", lambda t: _contributions(t, "sessions", "channel", JUNE, MAY), lambda a: {d["value"]: d["contribution"] for d in a["drivers"] if d["contribution"]}),
    why("Which campaigns explain the change of visits?", "sessions", "utm_campaign", lambda t: _contributions(t, "sessions", "utm_campaign", JUNE, MAY)),
    why("Which campaigns vanished after May, by visits?", "sessions", "utm_campaign", lambda _: ["spring_sale"], lambda a: [d["value"] for d in a["drivers"] if d["kind"] == "vanished"]),
    why("Which campaigns appeared in June, by visits?", "sessions", "utm_campaign", lambda _: ["summer_launch", "tiktok_test"], lambda a: sorted(d["value"] for d in a["drivers"] if d["kind"] == "appeared")),
    why("Why did revenue change, by country?", "revenue", "country", lambda t: _money_contributions(t, "country", JUNE, MAY)),
    why("By how much did revenue change?", "revenue", "country", lambda t: half_even(Fraction(str(m.paid(t, "revenue", JUNE))) - Fraction(str(m.paid(t, "revenue", MAY)))), field_of("change")),
    why("On which days of June was data missing?", "sessions", "channel", lambda _: {"2026-06-16": "events_rejected"}, table("coverage", "date", "reason")),
    why("Do rate and mix add up to the change of the bounce rate?", "bounce_rate", "device_type", lambda t: half_even(m.bounces(t, JUNE) - m.bounces(t, MAY), 4), lambda a: round(a["rate_and_mix"][0]["rate"] + a["rate_and_mix"][0]["mix"], 4)),
]  # fmt: skip

MONEY = [
    *(total(text, metric, JUNE) for text, metric in (
        ("What is the revenue", "revenue"), ("How much was refunded", "refunds"), ("How many refunds", "refund_count"),
        ("Revenue after refunds", "net_revenue"), ("How many orders", "orders"), ("Average order value", "aov"), ("How many customers", "customers"), ("How many new customers", "new_customers"),
        ("What share of revenue was refunded", "refund_rate"), ("What share of customers had ordered twice", "repeat_purchase_rate"),
        ("Revenue of subscriptions", "subscription_revenue"),
    )),
    *(total(text, metric, MAY) for text, metric in (
        ("What is the revenue", "revenue"), ("Revenue after refunds", "net_revenue"), ("How many orders", "orders"), ("How many customers", "customers"),
        ("Of first buyers, how many bought again within 30 days", "repeat_purchase_rate_30d"), ("Share of customers with two orders", "repeat_purchase_rate"),
    )),
    total("Of first buyers, how many came back within 60 days", "repeat_purchase_rate_60d", ("2026-04-27", "2026-05-10")),
    total("Revenue per visitor", "revenue_per_visitor", JUNE, lambda t: m.revenue_per_visitor(t, JUNE)),
    *(by(f"Revenue by {dimension}", "revenue", dimension, JUNE) for dimension in ("channel", "country", "device_type", "utm_campaign", "landing_page", "currency")),
    by("Orders by channel", "orders", "channel", JUNE), by("Revenue by coupon", "revenue", "property:coupon", JUNE, lambda t: m.paid(t, "revenue", JUNE, by="coupon", where=pl.col("coupon").is_not_null()), filters=[{"dimension": "property:coupon", "op": "is_set"}]),
    by("Revenue by product of tracked orders", "revenue", "product", JUNE, lambda t: m.paid(t, "revenue", JUNE, by="product", frame=t.sold), filters=is_("provider", "tracked")),
    by("Revenue by first channel of the customer", "revenue", "first_touch_channel", JUNE, lambda t: m.paid(t, "revenue", JUNE, by="first", frame=t.payments.with_columns(first=t.first_touch("channel")))),
    by("Orders by first campaign of the customer", "orders", "first_touch_campaign", JUNE, lambda t: m.paid(t, "orders", JUNE, by="first", frame=t.payments.with_columns(first=t.first_touch("utm_campaign")))),
    by("Revenue by new and returning", "revenue", "new_vs_returning", JUNE, lambda t: m.paid(t, "revenue", JUNE, by="first", frame=t.payments.with_columns(first=pl.when(pl.col("first_seen") >= t.start_of(JUNE)).then(pl.lit("new")).otherwise(pl.lit("returning"))))),
    filtered("Revenue from Germany", "revenue", JUNE, "country", "DE", pl.col("country") == "DE"),
    Question("Revenue of Stripe and of tracked orders in June?", "get_revenue", JUNE, {}, table("platforms", "platform", "revenue"), lambda t: m.paid(t, "revenue", JUNE, by="provider")),
    Question("Net revenue of all sources in June?", "get_revenue", JUNE, {}, field_of("combined", "net_revenue"), lambda t: m.paid(t, "net_revenue", JUNE)),
]  # fmt: skip


def reach(text, steps, days, **arguments):
    """How many reach each step of a funnel."""
    options = {name: arguments[name] for name in ("order", "unit") if name in arguments}
    window = {"window": arguments["window_days"]} if "window_days" in arguments else {}
    return Question(
        text,
        "get_funnel",
        days,
        {"steps": steps} | arguments,
        lambda a: [step["count"] for step in a["steps"]],
        lambda t: cohorts.funnel_counts(t, steps, days, **options, **window),
    )


def _entered(column, value):
    return lambda event: event[column] == value


def _groups(t, steps, days, column):
    labels = {
        row["label"]
        for row in t.events.select(label=pl.col(column).fill_null("(not set)")).unique().iter_rows(named=True)
    }
    counts = {
        label: cohorts.funnel_counts(
            t, steps, days, entry=lambda event, label=label: (event[column] or "(not set)") == label
        )
        for label in labels
    }
    return {label: numbers for label, numbers in counts.items() if numbers[0]}


CART = ["page_view", "add_to_cart", "checkout_started", "purchase"]
FUNNELS = [
    reach("How many get from a page to a purchase in June?", CART, JUNE), reach("And in May?", CART, MAY),
    reach("How many visits go from cart to purchase in June?", ["add_to_cart", "purchase"], JUNE, unit="session"),
    reach("How many begin the checkout right after the cart, with nothing between?", ["add_to_cart", "checkout_started"], JUNE, order="strict"),
    reach("How many buy twice within 30 days of the first time, from May on?", ["purchase", "purchase"], MAY, window_days=30),
    Question("How many both search and sign up, in any order, within 14 days?", "get_funnel", JUNE, {"steps": ["search", "signup"], "order": "any"}, lambda a: [step["count"] for step in a["steps"]], lambda t: cohorts.funnel_any_order(t, ["search", "signup"], JUNE)),
    Question("How many from Germany get from cart to purchase?", "get_funnel", JUNE, {"steps": ["add_to_cart", "purchase"], "country": "DE"}, lambda a: [step["count"] for step in a["steps"]], lambda t: cohorts.funnel_counts(t, ["add_to_cart", "purchase"], JUNE, entry=_entered("country", "DE"))),
    Question("Cart to purchase by device?", "get_funnel", JUNE, {"steps": ["add_to_cart", "purchase"], "breakdown": "device_type"}, lambda a: {g["value"]: [s["count"] for s in g["steps"]] for g in a["groups"] if g["steps"][0]["count"]}, lambda t: _groups(t, ["add_to_cart", "purchase"], JUNE, "device_type")),
    Question("Median seconds from cart to checkout in June?", "get_funnel", JUNE, {"steps": ["add_to_cart", "checkout_started"]}, field_of("steps", 1, "median_seconds_from_previous"), lambda t: cohorts.funnel_seconds(t, ["add_to_cart", "checkout_started"], JUNE, 1, median)),
    Question("Mean seconds from checkout to purchase in June?", "get_funnel", JUNE, {"steps": ["checkout_started", "purchase"]}, field_of("steps", 1, "mean_seconds_from_previous"), lambda t: cohorts.funnel_seconds(t, ["checkout_started", "purchase"], JUNE, 1, mean)),
    Question("How many view the mug and then buy, the first step filtered by its page?", "get_funnel", JUNE, {"steps": ["page_view", "purchase"], "step_filters": json.dumps([is_("page_path", "/mug"), []])}, lambda a: [step["count"] for step in a["steps"]], lambda t: cohorts.funnel_counts(t, ["page_view", "purchase"], JUNE, entry=_entered("path", "/mug"))),
    Question("How many get from a page to a purchas?", "get_funnel", JUNE, {"steps": ["page_view", "purchas"]}, lambda a: a["meta"]["warnings"][0]["code"], lambda _: Unknown("never_seen")),
]  # fmt: skip


def kept(text, days, unit, periods, expected=None, **arguments):
    """Active persons by cohort and period."""
    options = {
        name: arguments[given]
        for given, name in (("mode", "mode"), ("event_name", "event"), ("cohort_by", "by"))
        if given in arguments
    }
    return Question(
        text,
        "get_retention",
        days,
        {"granularity": unit, "periods": periods} | arguments,
        table("rows", "cohort_start period", "active_persons", keep_zeros=True),
        expected or (lambda t: cohorts.retention(t, days, unit, periods, **options)),
    )


def _first_channel(t, channel):
    return lambda person: t.touches.get(person, [{"channel": None}])[0]["channel"] == channel


def worth(text, days, unit, periods, value, expected, **arguments):
    return Question(
        text,
        "get_ltv",
        days,
        {"granularity": unit, "periods": periods} | arguments,
        table("rows", "cohort_start period", value, keep_zeros=True),
        expected,
    )


COHORTS = [
    kept("How many persons of each May week come back in the 4 weeks after?", ("2026-05-04", "2026-05-31"), "week", 4),
    kept("And how many come in that week or later?", ("2026-05-04", "2026-05-31"), "week", 4, mode="on_or_after"),
    kept("How many persons of May come back in June?", MAY, "month", 1),
    kept("Of those who first converted in May, how many are active in June?", MAY, "month", 1, cohort_by="first_conversion"),
    kept("Of May's persons who came by e-mail first, how many come back?", MAY, "month", 1, lambda t: cohorts.retention(t, MAY, "month", 1, where=_first_channel(t, "email")), channel="email"),
    Question("Weekly retention of May's cohorts on average?", "get_retention", ("2026-05-04", "2026-05-31"), {"granularity": "week", "periods": 3}, table("averages", "period", "retention_rate", keep_zeros=True), lambda t: cohorts.averages(t, ("2026-05-04", "2026-05-31"), "week", 3)),
    worth("What did the persons of May bring by the end of each month?", MAY, "month", 1, "cumulative_revenue", lambda t: cohorts.ltv(t, MAY, "month", 1)),
    worth("What did the weekly cohorts of May bring?", ("2026-05-04", "2026-05-31"), "week", 3, "cumulative_revenue", lambda t: cohorts.ltv(t, ("2026-05-04", "2026-05-31"), "week", 3)),
    worth("What is a person worth who came by paid social first, in May?", MAY, "month", 1, "cumulative_revenue_per_person", lambda t: cohorts.ltv(t, MAY, "month", 1, per_person=True, where=_first_channel(t, "paid_social")), channel="paid_social"),
]  # fmt: skip

EXPOSED = ("2026-06-05", "2026-06-25")
TEST = {"experiment": "checkout_v2"}


def variant(text, field, expected):
    return Question(
        text, "get_experiment_results", EXPOSED, TEST, table("variants", "variant", field), expected
    )


EXPERIMENTS = [
    variant("How many persons saw each variant of checkout_v2?", "persons", lambda t: ads_and_credits.variant_field(t, EXPOSED, "persons")),
    variant("How many of them converted?", "converted", lambda t: ads_and_credits.variant_field(t, EXPOSED, "converted")),
    variant("Revenue less refunds by variant?", "revenue", lambda t: ads_and_credits.variant_revenue(t, EXPOSED)),
    variant("Conversion rate by variant?", "conversion_rate", lambda t: {name: ratio(v["converted"], v["persons"]) for name, v in ads_and_credits.variants(t, EXPOSED)[0].items()}),
    Question("How many persons saw both variants?", "get_experiment_results", EXPOSED, TEST, field_of("excluded_persons"), lambda t: ads_and_credits.variants(t, EXPOSED)[1]),
    Question("Is one variant shown to be better in conversion rate?", "get_experiment_results", EXPOSED, TEST, lambda a: a["variants"][1]["conversion_rate_difference"]["conclusion"], lambda _: "no_difference_shown"),
    Question("Which experiments ran?", "list_experiments", EXPOSED, {}, lambda a: [e["experiment"] for e in a["experiments"]], lambda _: ["checkout_v2"]),
]  # fmt: skip
