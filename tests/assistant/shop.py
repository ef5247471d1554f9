"""A generated shop: what its visitors, campaigns, ad platforms and payment provider did, as raw rows.

The rows are the truth. `store.py` sends them to a service, `oracle.py` counts them without the service.
"""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from random import Random
from urllib.parse import urlencode

from tests.assistant.calendar_days import NOW, ZONE, local
from tests.assistant.subscribers import Subscriber

CURRENCY = "EUR"
DOMAIN = "shop.example"
FIRST_DAY, LAST_DAY = date(2026, 4, 27), date(2026, 7, 8)
OUTAGE = date(2026, 6, 16)
EXPERIMENT_DAYS = date(2026, 6, 5), date(2026, 6, 25)
TIKTOK_FROM, SPRING_UNTIL = date(2026, 6, 20), date(2026, 5, 31)


@dataclass(frozen=True)
class Origin:
    """Where a visit comes from, and how the semantics classify it."""

    source: str
    medium: str
    channel: str
    utm: dict = field(default_factory=dict)
    click: dict = field(default_factory=dict)
    referrer: str | None = None


def _campaign(source, medium, channel, campaign, **click):
    utm = {"utm_source": source, "utm_medium": medium, "utm_campaign": campaign}
    return Origin(source.lower(), medium, channel, utm, click)


ORIGINS = {
    "direct": Origin("(direct)", "(none)", "direct"),
    "google": Origin("google", "organic", "organic_search", referrer="https://www.google.com/"),
    "google_ads": _campaign("google", "cpc", "paid_search", "brand_search", gclid="Cj0"),
    "spring": _campaign("facebook", "paid_social", "paid_social", "spring_sale"),
    "summer": _campaign("facebook", "paid_social", "paid_social", "summer_launch"),
    "tiktok": _campaign("tiktok", "paid_social", "paid_social", "tiktok_test"),
    "newsletter": _campaign("newsletter", "email", "email", "weekly"),
    "Newsleter": _campaign("Newsleter", "email", "email", "weekly"),
    "instagram": Origin("instagram", "social", "organic_social", referrer="https://www.instagram.com/p/1"),
    "partner": Origin("partner.example", "referral", "referral", referrer="https://partner.example/blog"),
}
"""Id -> origin."""

DEVICES = {
    "windows": (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
        "desktop", "Chrome", "Windows", 1920,
    ),
    "linux": (
        "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
        "desktop", "Firefox", "Linux", 1366,
    ),
    "iphone": (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
        "mobile", "Safari", "iOS", 390,
    ),
    "android": (
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
        "mobile", "Chrome", "Android", 412,
    ),
}  # fmt: skip
"""Id -> User-Agent, device type, browser, system, width of the screen."""

GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
SERVER = "python-requests/2.32"

PLACES = {
    "mumbai": ("49.36.0.9", "IN", "Maharashtra", "Mumbai"),
    "berlin": ("91.10.0.9", "DE", "Berlin", "Berlin"),
    "hamburg": ("91.20.0.9", "DE", "Hamburg", "Hamburg"),
    "boston": ("73.10.0.9", "US", "Massachusetts", "Boston"),
    "unknown": ("198.51.100.9", None, None, None),
}
"""Id -> IP address, country, region, city."""

PRICES = {"mug": 1250, "tee": 2500, "poster": 999}
"""Product -> price in minor units."""

PAGES = ("/", "/mug", "/tee", "/poster", "/blog/care")


@dataclass
class Row:
    """An event as it is sent; ``repeated`` is sent a second time."""

    id: str
    name: str
    at: datetime
    received: datetime
    anonymous_id: str | None = None
    user_id: str | None = None
    session: str | None = None
    origin: str = "direct"
    device: str | None = None
    place: str = "unknown"
    path: str | None = None
    has_campaign: bool = False
    agent: str = ""
    properties: dict = field(default_factory=dict)
    repeated: bool = False

    @property
    def url(self):
        query = ORIGINS[self.origin].utm | ORIGINS[self.origin].click if self.has_campaign else {}
        return f"https://{DOMAIN}{self.path}" + (f"?{urlencode(query)}" if query else "")

    def body(self):
        """The body of `POST /track`."""
        properties = dict(self.properties)
        if self.path is not None:
            properties |= {"url": self.url, "title": self.path}
        if self.has_campaign:
            origin = ORIGINS[self.origin]
            properties |= (
                origin.utm | origin.click | ({"referrer": origin.referrer} if origin.referrer else {})
            )
        if self.device in DEVICES:
            properties["screen_width"] = DEVICES[self.device][4]
        sent = {
            "event": self.name,
            "event_id": self.id,
            "timestamp": self.at.isoformat(),
            "properties": properties,
        }
        sent |= {"context": {"session_id": self.session}} if self.session else {}
        ids = {"anonymous_id": self.anonymous_id, "user_id": self.user_id}
        return sent | {name: value for name, value in ids.items() if value} | {"ip": PLACES[self.place][0]}


@dataclass
class Shop:
    """Raw rows of everything that happened."""

    rows: list = field(default_factory=list)
    spend: list = field(default_factory=list)
    rates: dict = field(default_factory=dict)
    stripe: list = field(default_factory=list)
    refused: list = field(default_factory=list)


class Person:
    """Somebody who visits, on one device or two."""

    def __init__(self, number, chance):
        self.number = number
        self.place = chance.choices([*PLACES], [30, 25, 10, 25, 10])[0]
        self.device = chance.choice([*DEVICES])
        self.anonymous_id = f"a{number}"
        self.user_id = None
        self.known_devices = set()


class ShopGenerator:
    """Generates the rows of a shop; the same seed gives the same shop."""

    def __init__(self, seed=17):
        self.chance, self.shop = Random(seed), Shop()
        self.orders = self.sessions = self.events = 0
        self.exposed = {}

    def generate(self):
        people = [Person(number, self.chance) for number in range(190)]
        for person in people:
            self._live(person)
        for sharer, owner in ((180, 2), (181, 5), (182, 9)):
            self._share_computer(people[sharer], people[owner])
        self._rename_users([person for person in people if person.user_id][:3])
        self._order_without_a_rate(people[3])
        self._crawl()
        self._spend_on_ads()
        self._publish_rates()
        self._subscribe()
        self._delay_and_repeat()
        return self.shop

    def _add(self, name, at, person, **fields):
        self.events += 1
        row = Row(
            f"e{self.events}", name, at, at + timedelta(seconds=2), person.anonymous_id, place=person.place,
            device=person.device, agent=DEVICES[person.device][0], **fields,
        )  # fmt: skip
        if person.anonymous_id in person.known_devices:
            row.user_id = person.user_id
        is_down = row.at.astimezone(ZONE).date() == OUTAGE and row.at.astimezone(ZONE).hour >= 9
        (self.shop.refused if is_down else self.shop.rows).append(row)
        return row

    def _serve(self, name, at, sender, **properties):
        """An event that the shop's server sends."""
        self.events += 1
        self.shop.rows.append(
            Row(
                f"e{self.events}",
                name,
                at,
                at + timedelta(seconds=2),
                None,
                sender,
                agent=SERVER,
                properties=properties,
            )
        )

    def _origin(self, day, is_first):
        weights = {
            "direct": 12 if is_first else 40,
            "google": 16,
            "google_ads": 14,
            "instagram": 8,
            "partner": 6,
        }
        weights |= {"newsletter": 4 if is_first else 24, "Newsleter": 1 if is_first else 8}
        weights |= {"spring": 20} if day <= SPRING_UNTIL else {"summer": 16}
        weights |= {"tiktok": 8} if day >= TIKTOK_FROM else {}
        return self.chance.choices([*weights], [*weights.values()])[0]

    def _live(self, person):
        day = FIRST_DAY + timedelta(days=self.chance.randrange(68))
        number = 0
        while day < LAST_DAY:
            if number and person.user_id and self.chance.random() < 0.2:
                person.anonymous_id, person.device = f"b{person.number}", "iphone"
            self._visit(person, day, self._origin(day, not number))
            number += 1
            day += timedelta(days=self.chance.choice([1, 2, 3, 5, 8, 13, 30]))
            if self.chance.random() < 0.22:
                return

    def _visit(self, person, day, origin):
        chance = self.chance
        self.sessions += 1
        session = f"s{self.sessions}"
        at = local(
            day,
            chance.choice([0, 5, 8, 9, 10, 11, 12, 14, 16, 18, 20, 21, 23]),
            chance.randrange(50),
            chance.randrange(60),
        )
        shared = {"session": session, "origin": origin}
        landing = "/sale" if ORIGINS[origin].utm else chance.choice(PAGES)
        self._add("page_view", at, person, path=landing, has_campaign=origin != "direct", **shared)
        self._expose(person, at, shared)
        for _ in range(chance.choice([0, 0, 1, 2, 3, 4])):
            at += timedelta(seconds=chance.randint(3, 90))
            self._add("page_view", at, person, path=chance.choice(PAGES), **shared)
            if chance.random() < 0.15:
                at += timedelta(seconds=chance.randint(2, 20))
                self._add(
                    "search",
                    at,
                    person,
                    properties={"term": chance.choice(["gift", "blue mug", "xl"])},
                    **shared,
                )
        if person.user_id and person.anonymous_id not in person.known_devices:
            person.known_devices.add(person.anonymous_id)
            at += timedelta(seconds=9)
            self._add("login", at, person, **shared)
        elif not person.user_id and chance.random() < 0.3:
            person.user_id = f"u{person.number}"
            person.known_devices.add(person.anonymous_id)
            at += timedelta(seconds=7)
            self._add("signup", at, person, properties={"plan": chance.choice(["free", "club"])}, **shared)
        self._shop_around(person, at, shared)

    def _expose(self, person, at, shared):
        if not EXPERIMENT_DAYS[0] <= at.astimezone(ZONE).date() <= EXPERIMENT_DAYS[1]:
            return
        if person.number not in self.exposed and self.chance.random() < 0.8:
            self.exposed[person.number] = self.chance.choice(["control", "short"])
        variant = self.exposed.get(person.number)
        if variant and person.number % 29 == 3:
            variant = self.chance.choice(["control", "short"])
        if variant:
            properties = {"experiment_id": "checkout_v2", "variant": variant}
            self._add("experiment_viewed", at + timedelta(seconds=1), person, properties=properties, **shared)

    def _shop_around(self, person, at, shared):
        chance = self.chance
        if chance.random() > 0.45:
            return
        items = self._choose_items()
        at += timedelta(seconds=chance.randint(5, 100))
        self._add(
            "add_to_cart",
            at,
            person,
            properties={"value": items[0]["price"], "sku": items[0]["sku"]},
            **shared,
        )
        if chance.random() > 0.7:
            return
        at += timedelta(seconds=chance.randint(5, 100))
        self._add("checkout_started", at, person, path="/checkout", **shared)
        if chance.random() < 0.3:
            at += timedelta(seconds=chance.randint(5, 60))
            self._add("coupon_tried", at, person, **shared)
        if chance.random() > 0.72:
            return
        self._buy(person, at + timedelta(seconds=chance.randint(20, 200)), items, shared)

    def _choose_items(self):
        skus = self.chance.sample([*PRICES], self.chance.choice([1, 1, 2, 3]))
        return [
            {"sku": sku, "price": PRICES[sku] / 100, "quantity": self.chance.choice([1, 1, 2])}
            for sku in skus
        ]

    def _buy(self, person, at, items, shared, currency=None):
        chance = self.chance
        self.orders += 1
        total = sum(PRICES[item["sku"]] * item["quantity"] for item in items)
        coupon = chance.choice([None, None, None, "SPRING10"])
        minor = total * 9 // 10 if coupon else total
        currency = currency or ("USD" if person.place == "boston" and chance.random() < 0.6 else "EUR")
        order = {"order_id": f"o{self.orders}", "currency": currency}
        properties = (
            order | {"value": f"{minor / 100:.2f}", "items": items} | ({"coupon": coupon} if coupon else {})
        )
        name = chance.choice(["purchase", "purchase", "order_completed"])
        row = self._add(name, at, person, properties=properties, **shared)
        if row not in self.shop.rows or not row.user_id:
            return
        if chance.random() < 0.25:  # the server reports the order, too
            self._serve(
                "order_completed",
                at + timedelta(seconds=30),
                row.user_id,
                **order,
                value=f"{minor / 100:.2f}",
            )
        if chance.random() < 0.3:
            back = minor if chance.random() < 0.6 else minor * 2 // 5
            later = at + timedelta(days=chance.randint(2, 12), seconds=11)
            if later < NOW - timedelta(days=2):
                self._serve("refund", later, row.user_id, **order, value=f"{back / 100:.2f}")

    def _share_computer(self, sharer, owner):
        """Somebody signs in on a computer that was another's, and the computer stays theirs."""
        last = max(row.at for row in self.shop.rows if row.anonymous_id == owner.anonymous_id)
        guest = Person(sharer.number + 1000, self.chance)
        guest.anonymous_id, guest.device, guest.place = owner.anonymous_id, owner.device, owner.place
        guest.user_id = f"u{guest.number}"
        guest.known_devices = {owner.anonymous_id}
        day = last.astimezone(ZONE).date() + timedelta(days=1)
        if day < LAST_DAY:
            self._visit(guest, day, "direct")

    def _rename_users(self, people):
        """Some accounts get a new id, and later events name it."""
        for person in people:
            mine = [row for row in self.shop.rows if row.user_id == person.user_id]
            at, new = mine[len(mine) // 2].at + timedelta(seconds=1), f"{person.user_id}-new"
            for row in mine:
                row.user_id = new if row.at > at else row.user_id
            self._serve("$alias", at, new, previous_id=person.user_id, user_id=new)

    def _order_without_a_rate(self, person):
        self.sessions += 1
        shared = {"session": f"s{self.sessions}", "origin": "direct"}
        at = local(date(2026, 7, 7), 11)
        self._add("page_view", at, person, path="/", **shared)
        self._buy(
            person, at + timedelta(minutes=2), [{"sku": "mug", "price": 12.5, "quantity": 1}], shared, "GBP"
        )

    def _crawl(self):
        for number in range(24):
            day = FIRST_DAY + timedelta(days=3 * number)
            self.events += 1
            at = local(day, 3, number)
            self.shop.rows.append(
                Row(
                    f"e{self.events}",
                    "page_view",
                    at,
                    at,
                    f"bot{number % 4}",
                    session=f"bot{number}",
                    path="/",
                    agent=GOOGLEBOT,
                    device="bot",
                )
            )

    def _spend_on_ads(self):
        day = FIRST_DAY
        while day <= LAST_DAY:
            spring = day <= SPRING_UNTIL
            self._spend(
                "meta",
                "m1" if spring else "m2",
                "spring_sale" if spring else "summer_launch",
                day,
                "USD",
                700,
            )
            self._spend("google", "g1", "brand_search", day, "EUR", 400)
            day += timedelta(days=1)

    def _spend(self, platform, id_, name, day, currency, about):
        clicks = self.chance.randint(10, 40)
        self.shop.spend.append(
            {
                "platform": platform, "id": id_, "name": name, "day": day, "currency": currency,
                "spend": self.chance.randint(about, 2 * about), "impressions": clicks * self.chance.randint(20, 60),
                "clicks": clicks, "conversions": self.chance.randint(0, 4),
                "conversion_value": self.chance.randint(0, 9000),
            }
        )  # fmt: skip

    def _publish_rates(self):
        """Units of a currency for a euro; none at weekends."""
        day = FIRST_DAY - timedelta(days=7)
        while day <= LAST_DAY:
            if day.weekday() < 5:
                self.shop.rates[day] = 10800 + self.chance.randrange(500)
            day += timedelta(days=1)

    def _subscribe(self):
        for number in range(14):
            day = FIRST_DAY + timedelta(days=4 * number)
            Subscriber(number, day, self.shop.stripe).subscribe()
        self.shop.stripe.sort(key=lambda message: message["created"])

    def _delay_and_repeat(self):
        late = {f"s{self.chance.randrange(1, self.sessions)}" for _ in range(18)}
        for row in self.shop.rows:
            row.repeated = self.chance.random() < 0.03
            if row.session in late and row.at < NOW - timedelta(days=4):
                row.received = row.at + timedelta(days=2, hours=3)
        self.shop.rows.sort(key=lambda row: row.received)


def generate_shop(seed=17):
    """The shop of a seed."""
    return ShopGenerator(seed).generate()
