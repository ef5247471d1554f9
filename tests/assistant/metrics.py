"""Metrics, funnels, cohorts and credits of the truth, by the definitions of the semantics."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import polars as pl

from tests.assistant.calendar_days import NOW, ZONE
from tests.assistant.oracle import half_even, ratio


def _count(name):
    return lambda _, rows, __: rows.filter(pl.col("name") == name).height


def _distinct(column):
    return lambda _, rows, __: rows.filter("visit")[column].n_unique()


def _new_visitors(t, rows, days):
    return rows.filter(pl.col("visit") & (pl.col("visitor_since") >= t.start_of(days)))["visitor"].n_unique()


def _returning(t, rows, days):
    return _distinct("visitor")(t, rows, days) - _new_visitors(t, rows, days)


def _active(length):
    def count(t, _, days):
        last = date.fromisoformat(days[1])
        first = last - timedelta(days=length - 1)
        return t.between((first.isoformat(), days[1]))["person"].n_unique()

    return count


def _mean(column):
    return lambda t, rows, days: half_even(
        Fraction(int(t.engagement(rows, days)[column].sum()), t.engagement(rows, days).height), 6
    )


def _share(column):
    return lambda t, rows, days: ratio(
        int(t.engagement(rows, days)[column].sum()), t.engagement(rows, days).height
    )


def _abandonment(t, rows, days):
    carts = t.engagement(rows, days).filter("cart")
    return ratio(carts.filter(~pl.col("bought")).height, carts.height)


def _conversions(t, rows, days):
    return t.conversions(days).join(rows.select("id"), on="id", how="semi").height


METRICS = {
    "visitors": _distinct("visitor"), "sessions": _distinct("session"), "new_visitors": _new_visitors, "returning_visitors": _returning,
    "session_starts": lambda t, rows, days: t.between(days, t.events.filter("visit").group_by("session", maintain_order=True).first())
    .join(rows.select("session").unique(), on="session").height,
    "identified_users": lambda t, rows, _: rows.filter(pl.col("person").is_in(t.identified))["person"].n_unique(),
    "active_users_1d": _active(1), "active_users_7d": _active(7), "active_users_30d": _active(30),
    "pageviews": _count("page_view"), "events": lambda _, rows, __: rows.height,
    "custom_events": lambda _, rows, __: rows.filter(pl.col("name") != "page_view").height,
    "signups": _count("signup"), "add_to_carts": _count("add_to_cart"), "checkouts_started": _count("checkout_started"),
    "purchases": lambda t, rows, days: t.conversions(days, "purchase").join(rows.select("id"), on="id", how="semi").height,
    "bounce_rate": _share("bounced"), "engagement_rate": _share("engaged"),
    "engaged_sessions": lambda t, rows, days: int(t.engagement(rows, days)["engaged"].sum()),
    "avg_session_duration": lambda t, rows, days: half_even(Fraction(int(t.engagement(rows, days)["seconds"].sum()), t.engagement(rows, days).height), 3),
    "pages_per_session": _mean("views"), "events_per_session": _mean("events"), "cart_abandonment_rate": _abandonment,
    "conversions": _conversions,
    "conversion_rate": lambda t, rows, days: ratio(_conversions(t, rows, days), METRICS["visitors"](t, rows, days)),
}  # fmt: skip
"""Id -> number of rows of events."""


def charges(rows, sign=1):
    return rows.filter(pl.col("paid") == sign)


def net_cents(t, rows):
    charged, back = t.cents(charges(rows)), t.cents(charges(rows, -1))
    return None if None in (charged, back) else charged - back


def _repeat_within(days_between):
    def rate(t, _, days):
        firsts = [times for times in t.order_times.values() if is_in(times[0], days)]
        elapsed = [times for times in firsts if times[0] + timedelta(days=days_between) <= NOW]
        again = [
            times
            for times in elapsed
            if len(times) > 1 and times[1] - times[0] <= timedelta(days=days_between)
        ]
        return ratio(len(again), len(elapsed))

    return rate


def _repeat(t, rows, days):
    customers = charges(rows)["person"].unique()
    end = datetime.combine(
        date.fromisoformat(days[1]) + timedelta(days=1), datetime.min.time(), ZONE
    ).astimezone(UTC)
    again = [one for one in customers if len([at for at in t.order_times.get(one, ()) if at < end]) > 1]
    return ratio(len(again), len(customers))


def is_in(at, days):
    return days[0] <= at.astimezone(ZONE).date().isoformat() <= days[1]


def _new_customers(t, rows, days):
    return len([one for one in charges(rows)["person"].unique() if is_in(t.first_orders[one], days)])


MONEY = {
    "revenue": lambda t, rows, _: t.money(charges(rows)), "gross_revenue": lambda t, rows, _: t.money(charges(rows)),
    "refunds": lambda t, rows, _: t.money(charges(rows, -1)), "refund_count": lambda _, rows, __: charges(rows, -1).height,
    "net_revenue": lambda t, rows, _: None if net_cents(t, rows) is None else round(net_cents(t, rows)) / 100,
    "orders": lambda _, rows, __: charges(rows).height,
    "aov": lambda t, rows, _: half_even(t.cents(charges(rows)) / charges(rows).height / 100) if charges(rows).height else None,
    "customers": lambda _, rows, __: charges(rows)["person"].n_unique(), "new_customers": _new_customers,
    "refund_rate": lambda t, rows, _: ratio(t.cents(charges(rows, -1)), t.cents(charges(rows))),
    "repeat_purchase_rate": _repeat, "repeat_purchase_rate_30d": _repeat_within(30), "repeat_purchase_rate_60d": _repeat_within(60),
    "subscription_revenue": lambda t, rows, _: t.money(charges(rows).filter(pl.col("provider") == "stripe")),
}  # fmt: skip
"""Id -> number of rows of payments."""


def traffic(t, metric, days, by=None, where=None, frame=None):
    """A metric of events, in all or by a column."""
    value = METRICS[metric]
    return t.by(by, value, days, where, frame) if by else t.value(value, days, where, frame)


def paid(t, metric, days, by=None, where=None, frame=None):
    """A metric of payments, in all or by a column."""
    frame = t.payments if frame is None else frame
    return t.by(by, MONEY[metric], days, where, frame) if by else t.value(MONEY[metric], days, where, frame)


def bounces(t, days):
    """The bounce rate, exactly."""
    sessions = t.engagement(t.between(days), days)
    return Fraction(int(sessions["bounced"].sum()), sessions.height)


def revenue_per_visitor(t, days):
    return half_even(t.cents(charges(t.between(days, t.payments))) / 100 / traffic(t, "visitors", days))


def series(t, metric, days, unit):
    """Start of each bucket -> a metric of its events."""
    truncate = pl.col("at").dt.convert_time_zone(ZONE.key).dt.truncate(unit)
    rows = t.between(days).with_columns(bucket=truncate)
    groups = rows.partition_by("bucket", as_dict=True)
    return {
        start.strftime("%Y-%m-%d %H:%M"): METRICS[metric](t, group, days)
        for (start,), group in sorted(groups.items())
    }
