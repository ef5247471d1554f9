"""Source lists of the traffic classification: categories, aliases, click ids, spam.

This module and `source_hosts` are the only ones of the core that name companies: they are data about visits, not
integrations.

An entry without a dot matches every host whose registrable domain begins with it; an entry with a dot matches that
host and its subdomains.
"""

from types import MappingProxyType
from typing import Final

from service_core.ingestion.channel_rules.source_hosts import (
    ASSISTANT_HOSTS,
    MAIL_HOSTS,
    OTHER_HOSTS,
    SEARCH_HOSTS,
    SHOPPING_HOSTS,
    SOCIAL_HOSTS,
    VIDEO_HOSTS,
)

SEARCH: Final = "search"
SOCIAL: Final = "social"
VIDEO: Final = "video"
SHOPPING: Final = "shopping"
ASSISTANTS: Final = "assistants"

MAIL: Final = "mail"
OTHER_SOURCES: Final = "other"
"""Documents, translation and consoles of a company that also runs a search engine."""

SOURCES_BY_CATEGORY: Final = MappingProxyType(
    {
        SEARCH: tuple(SEARCH_HOSTS.split()),
        SOCIAL: tuple(SOCIAL_HOSTS.split()),
        VIDEO: tuple(VIDEO_HOSTS.split()),
        SHOPPING: tuple(SHOPPING_HOSTS.split()),
        ASSISTANTS: tuple(ASSISTANT_HOSTS.split()),
        MAIL: tuple(MAIL_HOSTS.split()),
        OTHER_SOURCES: tuple(OTHER_HOSTS.split()),
    }
)

SOURCE_CATEGORY: Final = MappingProxyType(
    {entry: name for name, entries in SOURCES_BY_CATEGORY.items() for entry in entries}
)
"""Entry -> its category."""

SOURCE_ALIASES: Final = MappingProxyType(
    {
        "fb": "facebook",
        "fb.me": "facebook",
        "m.me": "facebook",
        "ig": "instagram",
        "yt": "youtube",
        "youtu.be": "youtube",
        "x": "twitter",
        "x.com": "twitter",
        "t.co": "twitter",
        "li": "linkedin",
        "lnkd.in": "linkedin",
        "tt": "tiktok",
        "wa.me": "whatsapp",
        "t.me": "telegram",
        "adwords": "google",
        "instagr.am": "instagram",
        "telegram.me": "telegram",
        "pin.it": "pinterest",
        "redd.it": "reddit",
        "t.umblr.com": "tumblr",
        "flic.kr": "flickr",
        "lin.ee": "line.me",
        "dai.ly": "dailymotion",
        "amzn.to": "amazon",
        "a.co": "amazon",
    }
)
"""Alias -> entry. Aliases are used for matching; the stored value is the one that was sent."""

DEFAULT_MEDIUM: Final = MappingProxyType(
    {
        SEARCH: "organic",
        SOCIAL: "social",
        VIDEO: "video",
        SHOPPING: "referral",
        ASSISTANTS: "referral",
        MAIL: "email",
        OTHER_SOURCES: "referral",
    }
)
"""Category -> the medium of a visit if none is sent."""

CLICK_ID_SOURCES: Final = MappingProxyType(
    {
        "gclid": ("google", "cpc"),
        "gbraid": ("google", "cpc"),
        "wbraid": ("google", "cpc"),
        "msclkid": ("bing", "cpc"),
        "dclid": ("doubleclick", "display"),
        "ttclid": ("tiktok", "cpc"),
        "twclid": ("twitter", "cpc"),
        "li_fat_id": ("linkedin", "cpc"),
        "rdt_cid": ("reddit", "cpc"),
        "sclid": ("snapchat", "cpc"),
        "epik": ("pinterest", "cpc"),
        "fbclid": ("facebook", "social"),
        "obclid": ("outbrain", "cpc"),
        "irclid": ("impact", "affiliate"),
        "irclickid": ("impact", "affiliate"),
        "oppref": ("openai", None),
        "ko_click_id": (None, None),
    }
)
"""Type of a click id -> its source, and the medium it implies when none is sent."""

EXCLUDED_REFERRERS: Final = frozenset(
    {
        "stripe.com", "paypal.com", "paypalobjects.com", "shop.pay", "pay.shopify.com", "checkout.shopify.com",
        "klarna.com", "afterpay.com", "clearpay.co.uk", "affirm.com", "adyen.com", "pay.google.com",
        "accounts.google.com", "appleid.apple.com", "idmsa.apple.com", "login.live.com",
        "login.microsoftonline.com", "login.microsoft.com",
    }
)  # fmt: skip
"""Payment and login hosts a visitor passes through: they and their subdomains are not traffic sources."""

ANDROID_STORE_HOSTS: Final = frozenset({"play.google.com", "market.android.com"})
APP_STORE_HOSTS: Final = ANDROID_STORE_HOSTS | {"apps.apple.com", "itunes.apple.com", "appsto.re"}
"""Hosts of app stores."""

SPAM_REFERRERS: Final = frozenset(
    {
        "semalt.com", "buttons-for-website.com", "darodar.com", "ilovevitaly.com", "priceg.com",
        "best-seo-offer.com", "best-seo-solution.com", "free-share-buttons.com", "free-social-buttons.com",
        "get-free-traffic-now.com", "buy-cheap-online.info", "event-tracking.com", "trafficmonetize.org",
        "traffic2money.com", "webmonetizer.net", "success-seo.com", "hulfingtonpost.com", "4webmasters.org",
        "econom.co", "blackhatworth.com", "makemoneyonline.com", "savetubevideo.com", "kambasoft.com",
        "7makemoneyonline.com", "seoanalyses.com", "rankings-analytics.com", "site-auditor.online",
    }
)  # fmt: skip
"""Registrable domains known for forged referrers."""
