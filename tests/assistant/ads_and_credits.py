"""Attribution, ads, subscriptions and experiments of the truth, by the definitions of the semantics."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import polars as pl

from tests.assistant.calendar_days import ZONE
from tests.assistant.metrics import is_in, net_cents
from tests.assistant.oracle import half_even, largest_remainder, ratio

# Attribution


def _weights(model, touches, at):
    """(touch, credit) pairs that add up to 1."""
    useful = [touch for touch in touches if touch["channel"] != "direct"] or touches
    if model == "first_touch":
        return [(touches[0], Fraction(1))]
    if model == "last_touch":
        return [(touches[-1], Fraction(1))]
    if model == "last_non_direct":
        return [(useful[-1], Fraction(1))]
    n = len(useful)
    if model == "linear":
        return [(touch, Fraction(1, n)) for touch in useful]
    if model == "position_based":
        middle = [Fraction(1, 5) / (n - 2)] * (n - 2) if n > 2 else []
        ends = Fraction(2, 5) if n > 2 else Fraction(1, n) if n == 2 else Fraction(1)
        return list(zip(useful, [ends, *middle, ends][:n], strict=True))
    decayed = [Fraction(2 ** (-(at - touch["at"]).total_seconds() / 604800)) for touch in useful]
    return [(touch, weight / sum(decayed)) for touch, weight in zip(useful, decayed, strict=True)]


def _credits(t, days, model, window, name):
    """(conversion, touch or None, credit) of each conversion."""
    for row in t.conversions(days, name).iter_rows(named=True):
        since = row["at"] - timedelta(days=window)
        path = [touch for touch in t.touches.get(row["person"], ()) if since <= touch["at"] <= row["at"]]
        weights = _weights(model, path, row["at"]) if path else [(None, Fraction(1))]
        shares = largest_remainder(1_000_000, [share for _, share in weights])
        for (touch, _), share in zip(weights, shares, strict=True):
            yield row, touch, Fraction(share, 1_000_000)


def attributed(t, days, model, column, *, window=30, name=None):
    """Label of the touch -> conversions credited, unattributed ones left out."""
    totals = {}
    for _, touch, share in _credits(t, days, model, window, name):
        if touch is not None:
            label = touch[column] or "(not set)"
            totals[label] = totals.get(label, 0) + share
    return {label: half_even(total, 6) for label, total in totals.items()}


def credited_cents(t, days, model, column, *, window=30):
    """Label of the touch, None without one -> revenue credited in cents, exactly."""
    paid_rows = {row["id"]: row for row in t.payments.iter_rows(named=True)}
    totals = {}
    for row, touch, share in _credits(t, days, model, window, None):
        payment = paid_rows.get(row["id"])
        if payment is not None:
            cents = round(Fraction(payment["minor"] * 10000, payment["rate"]))
            label = None if touch is None else touch[column] or "(not set)"
            totals[label] = totals.get(label, 0) + share * cents
    return totals


def attributed_revenue(t, days, model, column, *, window=30):
    totals = credited_cents(t, days, model, column, window=window)
    return {label: round(cents) / 100 for label, cents in totals.items() if label is not None and cents}


def unattributed(t, days, model="last_non_direct", window=30):
    return sum(touch is None for _, touch, _ in _credits(t, days, model, window, None))


# Ads


def spend_cents(t, days, platform=None, name=None):
    """Spend in euro cents, exactly."""
    return sum(
        (
            Fraction(row["spend"] * 10000, t._rate(row["day"], row["currency"]))
            for row in _spend(t, days, platform, name)
        ),
        Fraction(0),
    )


def _spend(t, days, platform=None, name=None):
    return [
        row for row in t.shop.spend
        if days[0] <= row["day"].isoformat() <= days[1] and platform in (None, row["platform"]) and name in (None, row["name"])
    ]  # fmt: skip


def spend(t, days, platform=None, name=None):
    return round(spend_cents(t, days, platform, name)) / 100


def spend_by(t, days, column):
    return {
        key: round(
            sum(
                (
                    Fraction(row["spend"] * 10000, t._rate(row["day"], row["currency"]))
                    for row in _spend(t, days)
                    if row[column] == key
                ),
                Fraction(0),
            )
        )
        / 100
        for key in {row[column] for row in _spend(t, days)}
    }


def delivered(t, days, figure, platform=None, name=None):
    return sum(row[figure] for row in _spend(t, days, platform, name))


def per_spend(t, days, part, digits=2, platform=None):
    """A ratio of spend over a count."""
    return half_even(spend_cents(t, days, platform) / 100 / part, digits) if part else None


# Subscriptions


def _states(t, at):
    """Subscription -> its latest state at an instant."""
    rows = t.events.filter(
        (pl.col("source") == "stripe") & pl.col("kind").str.starts_with("subscription.") & (pl.col("at") < at)
    )
    return {row["subscription"]: row for row in rows.iter_rows(named=True)}


def _end(days):
    return datetime.combine(
        date.fromisoformat(days[1]) + timedelta(days=1), datetime.min.time(), ZONE
    ).astimezone(UTC)


def _live(states):
    return [row for row in states.values() if row["status"] in ("active", "past_due")]


def active_subscriptions(t, days):
    return len(_live(_states(t, _end(days))))


def _monthly(row):
    return Fraction(row["price"], 12 if row["interval"] == "year" else 1)


def mrr_at(t, at, by=None):
    rows = _live(_states(t, at))
    if by is None:
        return round(sum(map(_monthly, rows), Fraction(0))) / 100
    return {
        key: round(sum((_monthly(row) for row in rows if row[by] == key), Fraction(0))) / 100
        for key in {row[by] for row in rows}
    }


def mrr(t, days, by=None):
    return mrr_at(t, _end(days), by)


def _subscription_rows(t, days, **equal):
    rows = t.between(days, t.events.filter(pl.col("source") == "stripe"))
    return rows.filter(*(pl.col(name) == value for name, value in equal.items()))


def subscription_count(t, days, **equal):
    return _subscription_rows(t, days, **equal).height


def started(t, days):
    """Subscriptions whose first paid state lies in the days."""
    paid_rows = t.events.filter(
        (pl.col("source") == "stripe") & pl.col("status").is_in(["active", "past_due"])
    )
    first = paid_rows.group_by("subscription").agg(pl.col("at").min())
    return sum(is_in(at, days) for at in first["at"])


def churned(t, days):
    ended = _subscription_rows(t, days, kind="subscription.deleted")
    return [
        row
        for row in ended["subscription"]
        if row
        in {
            r["subscription"] for r in _live(_states(t, ended.filter(pl.col("subscription") == row)["at"][0]))
        }
    ]


def churn_rate(t, days):
    return ratio(len(churned(t, days)), len(_live(_states(t, t.start_of(days)))))


# Experiments


def variants(t, days, window=14):
    """Variant -> persons, those who converted, conversions and net revenue; persons of both variants are left out."""
    shown = t.between(days, t.events.filter(pl.col("experiment") == "checkout_v2"))
    result, mixed = {}, 0
    for (person,), rows in shown.partition_by("person", as_dict=True).items():
        if rows["variant"].n_unique() > 1:
            mixed += 1
            continue
        since = rows["at"].min()
        entry = result.setdefault(
            rows["variant"][0], {"persons": 0, "converted": 0, "conversions": 0, "cents": Fraction(0)}
        )
        limit = since + timedelta(days=window)
        own = pl.col("person").eq(person) & (pl.col("at") >= since) & (pl.col("at") < limit)
        count = t.conversions(("2020-01-01", "2030-01-01")).filter(own).height
        entry["persons"] += 1
        entry["converted"] += bool(count)
        entry["conversions"] += count
        entry["cents"] += net_cents(t, t.payments.filter(own))
    return result, mixed


def variant_field(t, days, field):
    return {name: entry[field] for name, entry in variants(t, days)[0].items()}


def variant_revenue(t, days):
    return {name: round(cents) / 100 for name, cents in variant_field(t, days, "cents").items()}


def arr(t, days):
    return round(sum(map(_monthly, _live(_states(t, _end(days)))), Fraction(0)) * 12) / 100


def roas(t, days):
    """Net revenue credited to touches of the connected platforms, over their spend."""
    by_source = _credited_net(t, days)
    return ratio(
        sum((by_source.get(source, Fraction(0)) for source in ("facebook", "google|cpc")), Fraction(0)),
        spend_cents(t, days),
    )


def _credited_net(t, days):
    """Source, of Google with its medium -> credited revenue less refunds in cents, under last non-direct."""
    totals, rows = {}, t.between(days, t.payments)
    by_order = {row["order"]: row for row in t.payments.filter(pl.col("paid") == 1).iter_rows(named=True)}
    for row in rows.iter_rows(named=True):
        charge = by_order[row["order"]]
        since = charge["at"] - timedelta(days=30)
        path = [
            touch for touch in t.touches.get(charge["person"], ()) if since <= touch["at"] <= charge["at"]
        ]
        if path:
            [(touch, _)] = _weights("last_non_direct", path, charge["at"])
            label = (
                "google|" + touch["attribution_medium"]
                if touch["attribution_source"] == "google"
                else touch["attribution_source"]
            )
            totals[label] = totals.get(label, Fraction(0)) + row["paid"] * round(
                Fraction(row["minor"] * 10000, row["rate"])
            )
    return totals


def renamed_user(t):
    """The new id of the first account that got one."""
    return t.events.filter(pl.col("name") == "$alias")["user"][0]


def devices_of_renamed(t):
    return sorted(t.events.filter(pl.col("person") == renamed_user(t))["visitor"].unique())


def repeated(t, days):
    return len([row for row in t.shop.rows if row.repeated and is_in(row.received, days)])
