"""What the example shop sells and advertises, and where its visitors come from."""

from dataclasses import dataclass
from typing import Final

SHOP_NAME: Final = "Example Shop"
SHOP_DOMAIN: Final = "shop.example"
SITE: Final = f"https://www.{SHOP_DOMAIN}"
CURRENCY: Final = "USD"
OWNER_EMAIL: Final = "owner@shop.example"
DAYS: Final = 60
"""Days of history, today included."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product; price and unit cost in minor units."""

    sku: str
    name: str
    category: str
    price: int
    unit_cost: int

    @property
    def path(self) -> str:
        """Path of its page."""
        return f"/products/{self.sku.lower()}"


PRODUCTS: Final = (
    Product("BEANS-HOUSE", "House blend, 1 kg", "Coffee", 2400, 980),
    Product("BEANS-ETHIOPIA", "Ethiopia single origin, 1 kg", "Coffee", 3200, 1450),
    Product("BEANS-DECAF", "Decaf, 500 g", "Coffee", 1600, 720),
    Product("GRINDER-HAND", "Hand grinder", "Equipment", 7900, 3900),
    Product("KETTLE-GOOSE", "Gooseneck kettle", "Equipment", 9800, 5200),
    Product("FILTERS-100", "Paper filters, 100", "Accessories", 700, 190),
    Product("MUG-STONE", "Stoneware mug", "Accessories", 1800, 640),
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place with the language of its visitors, and their share."""

    country: str
    region: str
    city: str
    timezone: str
    language: str
    weight: int


PLACES: Final = (
    Place("US", "New York", "New York", "America/New_York", "en-US", 20),
    Place("US", "California", "San Francisco", "America/Los_Angeles", "en-US", 14),
    Place("US", "Texas", "Austin", "America/Chicago", "en-US", 9),
    Place("US", "Illinois", "Chicago", "America/Chicago", "en-US", 8),
    Place("GB", "England", "London", "Europe/London", "en-GB", 12),
    Place("DE", "Berlin", "Berlin", "Europe/Berlin", "de-DE", 9),
    Place("CA", "Ontario", "Toronto", "America/Toronto", "en-CA", 8),
    Place("NL", "North Holland", "Amsterdam", "Europe/Amsterdam", "nl-NL", 5),
    Place("FR", "Île-de-France", "Paris", "Europe/Paris", "fr-FR", 5),
    Place("AU", "Victoria", "Melbourne", "Australia/Melbourne", "en-AU", 4),
    Place("JP", "Tokyo", "Tokyo", "Asia/Tokyo", "ja-JP", 3),
)


@dataclass(frozen=True, slots=True)
class Device:
    """A browser with the screen it is used on, and its share."""

    user_agent: str
    screen: tuple[int, int]
    weight: int


_MAC: Final = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
_WINDOWS: Final = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
_CHROME: Final = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"

DEVICES: Final = (
    Device(f"{_WINDOWS} {_CHROME} Safari/537.36", (1920, 1080), 24),
    Device(f"{_MAC} {_CHROME} Safari/537.36", (1728, 1117), 12),
    Device(f"{_MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15", (1512, 982), 10),
    Device(f"{_WINDOWS} {_CHROME} Safari/537.36 Edg/140.0.0.0", (1536, 864), 6),
    Device("Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0", (1920, 1200), 5),
    Device(
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
        "Version/18.5 Mobile/15E148 Safari/604.1",
        (393, 852),
        25,
    ),
    Device(f"Mozilla/5.0 (Linux; Android 15; Pixel 9) {_CHROME} Mobile Safari/537.36", (412, 915), 14),
    Device(
        "Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
        "Version/18.5 Mobile/15E148 Safari/604.1",
        (1024, 1366),
        4,
    ),
)


@dataclass(frozen=True, slots=True)
class Ad:
    """An ad inside its group and campaign, with ids of the platform.

    Attributes:
        platform: id of the ad platform.
        source: UTM source of its visits.
        medium: UTM medium of its visits.
        click_id: parameter by which the platform names a click.
        cost_per_click: in minor units.
        click_rate: clicks per impression.
        weight: its share of the paid visits.
        quality: factor on the probability of an order.
    """

    platform: str
    source: str
    medium: str
    click_id: str
    campaign: tuple[str, str]
    group: tuple[str, str]
    ad: tuple[str, str]
    landing_page: str
    cost_per_click: int
    click_rate: float
    weight: int
    quality: float


ADS: Final = (
    Ad("google", "google", "cpc", "gclid", ("7001", "Brand search"), ("7101", "Brand terms"),
       ("7201", "Fresh roasted every week"), "/", 131, 0.071, 14, 1.5),
    Ad("google", "google", "cpc", "gclid", ("7001", "Brand search"), ("7101", "Brand terms"),
       ("7202", "Free shipping this month"), "/", 124, 0.064, 8, 1.4),
    Ad("google", "google", "cpc", "gclid", ("7002", "Coffee beans"), ("7102", "Single origin"),
       ("7203", "Ethiopia, roasted to order"), "/products/beans-ethiopia", 264, 0.034, 12, 0.9),
    Ad("google", "google", "cpc", "gclid", ("7002", "Coffee beans"), ("7103", "Decaf"),
       ("7204", "Decaf that tastes like coffee"), "/products/beans-decaf", 243, 0.029, 7, 0.6),
    Ad("meta", "facebook", "paid_social", "fbclid", ("8001", "Autumn sale"), ("8101", "Home baristas"),
       ("8201", "Kettle video"), "/sale", 192, 0.014, 15, 0.7),
    Ad("meta", "facebook", "paid_social", "fbclid", ("8001", "Autumn sale"), ("8101", "Home baristas"),
       ("8202", "Grinder carousel"), "/sale", 205, 0.012, 10, 0.5),
    Ad("meta", "instagram", "paid_social", "fbclid", ("8002", "Visitors who left a cart"), ("8102", "Cart, 14 days"),
       ("8203", "Your cart is waiting"), "/cart", 168, 0.021, 7, 1.9),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """How unpaid visits come to the site.

    Attributes:
        referrer: address that led to the site; empty for none.
        campaign: UTM source, medium and campaign; empty for none.
        landing_pages: first pages of these visits.
        weight: share of all unpaid visits.
        quality: factor on the probability of an order.
        link: name of the trackable link that led here; empty for none.
    """

    referrer: str
    landing_pages: tuple[str, ...]
    weight: int
    quality: float
    campaign: tuple[str, ...] = ()
    link: str = ""


ORIGINS: Final = (
    Origin("", ("/", "/products/beans-house"), 24, 1.2),
    Origin("https://www.google.com/", ("/", "/guides/pour-over", "/products/grinder-hand"), 28, 0.9),
    Origin("https://www.bing.com/", ("/", "/products/kettle-goose"), 4, 0.9),
    Origin("https://duckduckgo.com/", ("/guides/pour-over",), 3, 0.8),
    Origin("https://chatgpt.com/", ("/guides/pour-over", "/products/kettle-goose"), 4, 1.1),
    Origin("https://www.reddit.com/", ("/guides/pour-over", "/products/grinder-hand"), 5, 0.4),
    Origin("https://brewing-notes.example/best-kettles", ("/products/kettle-goose",), 5, 1.3),
    Origin("", ("/", "/sale"), 10, 1.8, ("newsletter", "email", "Weekly letter")),
    Origin("https://www.youtube.com/", ("/products/kettle-goose",), 6, 1.0, link="Kettle review on YouTube"),
    Origin("", ("/products/beans-ethiopia",), 4, 0.8, link="Podcast, October"),
)

LINKS: Final = (
    {"name": "Kettle review on YouTube", "slug": "kettle", "destination_url": f"{SITE}/products/kettle-goose",
     "utm_source": "youtube", "utm_medium": "video", "utm_campaign": "Kettle review"},
    {"name": "Podcast, October", "slug": "podcast", "destination_url": f"{SITE}/products/beans-ethiopia",
     "utm_source": "podcast", "utm_medium": "audio", "utm_campaign": "Podcast October"},
    {"name": "Card in the parcel", "slug": "card", "destination_url": f"{SITE}/club",
     "utm_source": "parcel", "utm_medium": "print", "utm_campaign": "Coffee club"},
)  # fmt: skip

FIRST_NAMES: Final = (
    *("Ada", "Ben", "Carla", "Dan", "Eva", "Finn", "Grace", "Hugo", "Ida", "Jack", "Kira", "Liam"),
    *("Mia", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tara", "Uma", "Vera", "Will", "Yara", "Zoe"),
)
LAST_NAMES: Final = (
    *("Brooks", "Carter", "Dietz", "Ellis", "Fischer", "Gray", "Hall", "Ivers", "Jansen", "Keller", "Lane"),
    *("Moore", "Novak", "Olsen", "Petit", "Quinn", "Reed", "Silva", "Unger"),
)
"""Names of people who sign up; the numbers of both lists have no common divisor."""
