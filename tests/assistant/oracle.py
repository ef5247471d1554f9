"""Counts what the questions ask from the raw rows of a shop, by the definitions of the semantics and without the service."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property

import polars as pl

from tests.assistant.calendar_days import NOW, ZONE
from tests.assistant.shop import DEVICES, GOOGLEBOT, ORIGINS, PLACES, SERVER

NAMES = {"order_completed": "purchase", "order_paid": "purchase", "subscription_started": "subscribe"}
"""Name -> the name it counts as."""
CONVERSIONS = ["signup", "purchase", "subscribe", "trial_started"]
NOT_SET = "(not set)"
SYSTEM = "$"


def half_even(value, digits=2):
    """A number rounded half to even, None if unknown."""
    return None if value is None else float(round(Fraction(value), digits))


def ratio(part, whole):
    """A fraction with six digits; None if the denominator is 0."""
    return None if not whole else half_even(Fraction(part) / Fraction(whole), 6)


def screen_class(width):
    """The class of a width in pixels."""
    return next(
        (name for limit, name in ((576, "small"), (992, "medium"), (1440, "large")) if width < limit), "wide"
    )


def _tracked(row):
    """The columns of an event."""
    properties, origin = row.properties, ORIGINS[row.origin]
    known = DEVICES.get(row.device, (None,) * 4 + (0,))
    place = PLACES[row.place] if row.agent != SERVER else PLACES["unknown"]
    value = properties.get("value")
    return {
        "id": row.id, "name": NAMES.get(row.name, row.name), "sent_name": row.name, "at": row.at, "received": row.received,
        "anon": row.anonymous_id, "user": row.user_id, "sid": row.session, "path": row.path,
        "source": "api" if row.agent == SERVER else "browser", "bot": row.agent == GOOGLEBOT,
        "device_type": known[1], "browser": known[2], "os": known[3],
        "screen_class": screen_class(known[4]) if known[4] else None,
        "country": place[1], "region": place[2], "city": place[3],
        "utm_source": origin.utm.get("utm_source"), "utm_medium": origin.utm.get("utm_medium"),
        "utm_campaign": origin.utm.get("utm_campaign"), "attribution_source": origin.source,
        "attribution_medium": origin.medium, "channel": origin.channel, "click_id_type": next(iter(origin.click), None),
        "referrer_host": origin.referrer.split("/")[2].removeprefix("www.") if origin.referrer else None,
        "order": properties.get("order_id"), "currency": properties.get("currency"),
        "minor": round(float(value) * 100) if isinstance(value, str) else None,
        "coupon": properties.get("coupon"), "term": properties.get("term"), "plan": properties.get("plan"),
        "variant": properties.get("variant"), "experiment": properties.get("experiment_id"),
        "items": str(properties["items"]) if "items" in properties else None,
        "previous_id": properties.get("previous_id"), "provider": "tracked", "own_values": row.has_campaign,
    }  # fmt: skip


def _provided(message):
    """The columns of an event that a message of Stripe becomes; None if it becomes none."""
    about = message["data"]["object"]
    kind = message["type"].removeprefix("customer.")
    name = {
        "subscription.created": "trial_started" if about.get("status") == "trialing" else "subscription_started",
        "subscription.updated": "subscription_changed", "subscription.deleted": "subscription_cancelled",
        "invoice.payment_succeeded": "purchase", "invoice.payment_failed": "billing_failed",
    }[kind]  # fmt: skip
    at = datetime.fromtimestamp(message["created"], NOW.tzinfo)
    paid = kind == "invoice.payment_succeeded"
    return {
        "id": message["id"], "name": NAMES.get(name, name), "sent_name": name, "at": at, "received": at, "bot": False,
        "anon": None, "user": f"stripe:{about['customer']}", "source": "stripe", "provider": "stripe",
        "order": about["id"] if paid else None, "minor": about.get("amount_paid"), "currency": "EUR" if paid else None,
        "subscription": about["id"] if "subscription" in kind else about["parent"]["subscription_details"]["subscription"],
        "status": about.get("status"), "reason": about.get("billing_reason"), "kind": kind,
        "price": about["items"]["data"][0]["price"]["unit_amount"] if "items" in about else None,
        "interval": about["items"]["data"][0]["price"]["recurring"]["interval"] if "items" in about else None,
        "tier": about["items"]["data"][0]["price"]["nickname"] if "items" in about else None,
    }  # fmt: skip


class Truth:
    """The answers of a shop. Days are (first, last), both inclusive, of the shop's wall clock."""

    def __init__(self, shop):
        self.shop = shop
        rows = [*map(_tracked, shop.rows), *map(_provided, shop.stripe)]
        frame = pl.DataFrame(rows, infer_schema_length=None).unique("id", keep="first", maintain_order=True)
        frame = (
            frame.with_row_index("seq")
            .sort("at", "seq")
            .with_columns(
                day=pl.col("at").dt.convert_time_zone(ZONE.key).dt.date(),
                hour=pl.col("at").dt.convert_time_zone(ZONE.key).dt.truncate("1h"),
            )
        )
        self.all = self._with_sessions(self._with_persons(frame))
        self.events = self.all.filter(~pl.col("bot"))

    @staticmethod
    def _with_persons(frame):
        """A signed-in user owns a device from then on, and what the device did before it had a user."""
        renamed = dict(frame.filter(pl.col("name") == "$alias").select("previous_id", "user").iter_rows())
        user = pl.col("user").replace(renamed)
        owner = user.forward_fill().over("anon").fill_null(user.backward_fill().over("anon"))
        return frame.with_columns(
            person=pl.when(pl.col("anon").is_null()).then(user).otherwise(pl.coalesce(owner, "anon")),
            visitor=pl.coalesce("anon", "user"),
            visit=pl.col("anon").is_not_null(),
        )

    @staticmethod
    def _with_sessions(frame):
        """Events of a session have the values of its first event."""
        entry = {
            name: pl.col(name).first().over("session")
            for name in (
                "utm_source", "utm_medium", "utm_campaign", "attribution_source", "attribution_medium", "channel",
                "click_id_type", "referrer_host", "country", "region", "city", "device_type", "browser", "os", "screen_class",
            )
        }  # fmt: skip
        frame = frame.with_columns(session=pl.when("visit").then(pl.format("{}|{}", "visitor", "sid")))
        columns = {name: pl.when("visit").then(value) for name, value in entry.items()}
        pages = pl.when(pl.col("name") == "page_view").then("path")
        return frame.with_columns(
            **columns,
            landing_page=pl.when("visit").then(pl.col("path").first().over("session")),
            exit_page=pl.when("visit").then(pages.drop_nulls().last().over("session")),
            first_seen=pl.col("at").min().over("person"),
            visitor_since=pl.when(~pl.col("bot")).then("at").min().over("visitor"),
        )

    def between(self, days, frame=None, where=None):
        """Rows of local days that fulfil a condition."""
        frame = self.events if frame is None else frame
        first, last = (date.fromisoformat(day) for day in days)
        chosen = frame.filter(pl.col("day").is_between(first, last))
        return chosen if where is None else chosen.filter(where)

    def start_of(self, days):
        """The instant at which days begin."""
        return datetime.combine(date.fromisoformat(days[0]), datetime.min.time(), ZONE).astimezone(UTC)

    def by(self, column, value, days, where=None, frame=None, **more):
        """Label of a column -> a number of the rows with it; labels of 0 are left out."""
        chosen = self.between(days, frame, where).with_columns(
            pl.col(column).fill_null(NOT_SET).alias("_label")
        )
        groups = chosen.partition_by("_label", as_dict=True)
        counted = {label: value(self, group, days, **more) for (label,), group in groups.items()}
        return {label: number for label, number in counted.items() if number}

    def value(self, value, days, where=None, frame=None):
        """A number of the rows of some days."""
        return value(self, self.between(days, frame, where), days)

    @cached_property
    def identified(self):
        """Persons that ever had a user id."""
        known = self.events.filter(pl.col("user").is_not_null() & (pl.col("source") != "stripe"))
        return known["person"].unique().to_list()

    @cached_property
    def reports(self):
        """Events, of which an order that is reported twice is one."""
        key = pl.when(pl.col("name") == "purchase").then(pl.coalesce("order", "id")).otherwise("id")
        return self.events.with_columns(report=key).unique(
            ["name", "report"], keep="first", maintain_order=True
        )

    @cached_property
    def sessions(self):
        """A row for each session, with its day of beginning."""
        views = pl.col("name") == "page_view"
        grouped = self.events.filter("visit").group_by("session", maintain_order=True).agg(
            pl.col("at").min().alias("start"), pl.col("at").max().alias("end"), views.sum().alias("views"),
            (~views & ~pl.col("name").str.starts_with(SYSTEM)).sum().alias("others"),
            pl.col("name").is_in(CONVERSIONS).sum().alias("converted"), pl.len().alias("events"),
            pl.col("name").is_in(["add_to_cart"]).any().alias("cart"), (pl.col("name") == "purchase").any().alias("bought"),
        )  # fmt: skip
        return grouped.with_columns(seconds=(pl.col("end") - pl.col("start")).dt.total_seconds())

    def engagement(self, rows, days):
        """Sessions with a page view and an event among rows."""
        sessions = self.sessions.join(rows.select("session").unique(), on="session").filter(
            pl.col("views") > 0
        )
        engaged = (pl.col("seconds") >= 10) | (pl.col("views") >= 2) | (pl.col("converted") > 0)
        return sessions.with_columns(
            bounced=(pl.col("views") == 1) & (pl.col("others") == 0), engaged=engaged
        )

    # Money

    @cached_property
    def payments(self):
        """One row for each charge and refund, an order reported twice once; ``cents`` is in euro cents."""
        charges = self.events.filter((pl.col("name") == "purchase") & pl.col("minor").is_not_null())
        charges = charges.unique("order", keep="first", maintain_order=True).with_columns(paid=pl.lit(1))
        refunds = self.events.filter(pl.col("name") == "refund").with_columns(paid=pl.lit(-1))
        days = dict(charges.select("order", "day").iter_rows())
        rates = [
            self._rate(*row)
            for row in pl.concat([charges, refunds]).select("order", "day", "currency").iter_rows()
            for row in [(days.get(row[0], row[1]), row[2])]
        ]
        both = pl.concat([charges, refunds])
        return both.with_columns(rate=pl.Series(rates, dtype=pl.Int64)).sort("at", "seq")

    def _rate(self, day, currency):
        """Units of a currency for 10,000 euros; None if none is known of the last 7 days."""
        if currency == "EUR":
            return 10000
        known = (
            [self.shop.rates.get(day - timedelta(days=back)) for back in range(8)]
            if currency == "USD"
            else []
        )
        return next(filter(None, known), None)

    def cents(self, rows):
        """The sum of payments in cents; each is converted and rounded once, so that parts add up. None if a rate is missing."""
        paid = rows.select("minor", "rate").iter_rows()
        parts = [None if rate is None else round(Fraction(minor * 10000, rate)) for minor, rate in paid]
        return None if None in parts else Fraction(sum(parts))

    def money(self, rows):
        """The sum of payments in euros, rounded once."""
        cents = self.cents(rows)
        return None if cents is None else round(cents) / 100

    @cached_property
    def sold(self):
        """One row for each product of each tracked order; its parts add up to the order."""
        parts = []
        for row in self.payments.filter((pl.col("paid") == 1) & pl.col("items").is_not_null()).iter_rows(
            named=True
        ):
            items = eval(row["items"])
            sizes = [round(item["price"] * 100) * item["quantity"] for item in items]
            whole = round(Fraction(row["minor"] * 10000, row["rate"])) if row["rate"] else row["minor"]
            shares = largest_remainder(whole, sizes)
            rate = 10000 if row["rate"] else None
            parts += [
                row | {"product": item["sku"], "minor": share, "rate": rate}
                for item, share in zip(items, shares, strict=True)
            ]
        return pl.DataFrame(parts, schema_overrides=dict(self.payments.schema))

    @cached_property
    def order_times(self):
        """Person -> times of orders, oldest first; a renewal is one only if it is the first."""
        rows = self.payments.filter(pl.col("paid") == 1).with_columns(first=pl.col("at").min().over("person"))
        rows = rows.filter(
            (pl.col("at") == pl.col("first")) | (pl.col("reason").fill_null("") != "subscription_cycle")
        )
        return dict(rows.group_by("person").agg(pl.col("at").sort()).iter_rows())

    @cached_property
    def first_orders(self):
        """Person -> time of the first order ever."""
        return dict(
            self.payments.filter(pl.col("paid") == 1).group_by("person").agg(pl.col("at").min()).iter_rows()
        )

    # Touches

    @cached_property
    def touches(self):
        """Person -> touches, oldest first: each visit begins with one."""
        first = self.events.filter("visit").group_by("session", maintain_order=True).first()
        touches = {}
        for row in first.sort("at", "seq").iter_rows(named=True):
            touches.setdefault(row["person"], []).append(row)
        return touches

    def first_touch(self, column):
        """Adds the value of the first touch of the person."""
        values = {person: touches[0][column] for person, touches in self.touches.items()}
        return pl.col("person").replace_strict(values, default=None, return_dtype=pl.String)

    def conversions(self, days, name=None):
        """Conversions of some days, an order reported twice once."""
        chosen = self.events.filter(pl.col("name").is_in([name] if name else CONVERSIONS))
        chosen = chosen.with_columns(key=pl.coalesce("order", "id")).unique(
            ["name", "key"], keep="first", maintain_order=True
        )
        return self.between(days, chosen.sort("at", "seq"))


def largest_remainder(total, sizes):
    """Parts of a whole number in proportion to sizes; what rounding leaves goes to the largest remainders, the earlier first."""
    whole = sum(sizes)
    exact = [Fraction(total) * size / whole for size in sizes]
    parts = [int(part // 1) for part in exact]
    order = sorted(range(len(sizes)), key=lambda index: (parts[index] - exact[index], index))
    for index in order[: total - sum(parts)]:
        parts[index] += 1
    return parts
