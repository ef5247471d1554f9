"""All dimensions of the core."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from service_core.analytics.measures import (
    Column,
    Relation,
    Scalar,
    ad_column,
    entry_column,
    property_label_column,
    touch_column,
)
from service_core.analytics.query.catalog import Dimension
from service_core.ingestion.models import IMPORT_PROPERTY

_SESSION_RELATIONS: Final = (Relation.EVENTS, Relation.SESSIONS, Relation.CONVERSIONS)


def _make_session_columns(column: str, *, touch: bool = False) -> Mapping[Relation, Column]:
    """Returns the columns of a session value; of a payment, of the session it arose in; in credits, of the touch."""
    columns = dict.fromkeys((*_SESSION_RELATIONS, Relation.PAYMENTS), entry_column(column))
    return MappingProxyType(columns | ({Relation.CREDITS: touch_column(column)} if touch else {}))


def _make_event_columns(column: str, *further: Relation) -> Mapping[Relation, Column]:
    """Returns the columns of an event value."""
    return MappingProxyType(dict.fromkeys((Relation.EVENTS, Relation.CONVERSIONS, *further), Column(column)))


def _make_payment_columns(column: str, sold: str) -> Mapping[Relation, Column]:
    """Returns the columns of a payment or subscription value; for costs, that of the sale."""
    money = dict.fromkeys((Relation.PAYMENTS, Relation.SUBSCRIPTIONS), Column(column))
    return MappingProxyType({**money, Relation.COSTS: Column(sold)})


def _make_ad_columns(column: str) -> Mapping[Relation, Column]:
    """Returns the columns of an ad entity; postbacks have the platform only."""
    sent = {Relation.POSTBACKS: Column(column)} if column == "platform" else {}
    return MappingProxyType({Relation.SPEND: Column(column), Relation.CREDITS: ad_column(column), **sent})


_TOUCH_DIMENSIONS: Final = (
    ("attribution_source", "Source", "Where the visit came from: campaign source, click id or referrer."),
    ("attribution_medium", "Medium", "How it came: campaign medium, or what the source implies."),
    ("channel", "Channel", "The channel the rules of the workspace put the visit in."),
    ("utm_source", "UTM source", "`utm_source` as sent."),
    ("utm_medium", "UTM medium", "`utm_medium` as sent."),
    ("utm_campaign", "UTM campaign", "`utm_campaign` as sent."),
    ("utm_term", "UTM term", "`utm_term` as sent."),
    ("utm_content", "UTM content", "`utm_content` as sent."),
    ("click_id_type", "Click id type", "Kind of the click id the visit carried, such as `gclid`."),
    ("lyr", "Link tag", "Tag of the trackable link the visit came through."),
)
_LOCATION_AND_DEVICE_DIMENSIONS: Final = (
    ("country", "Country", "Country of the session, ISO 3166-1 alpha-2."),
    ("region", "Region", "Region of the session."),
    ("city", "City", "City of the session."),
    ("device_type", "Device type", "`desktop`, `mobile`, `tablet`, `tv` or `other`."),
    ("browser", "Browser", "Browser of the session."),
    ("os", "Operating system", "Operating system of the session."),
    ("language", "Language", "Language of the browser or application."),
    ("app_version", "App version", "Version of the application."),
)
_VISIT_DIMENSIONS: Final = (
    ("exit_page", "Exit page", "Path of the last page view of the session.", Column("exit_page")),
    (
        "hostname",
        "Hostname",
        "Host of the page on which the session began, without `www.`.",
        entry_column("hostname"),
    ),
    (
        "screen_class",
        "Screen size",
        "Width of the screen: `small` below 576 pixels, `medium` below 992, `large` below 1440, else `wide`.",
        entry_column("screen_class"),
    ),
)
_BOT_DIMENSIONS: Final[tuple[tuple[str, str, str, Mapping[str, Scalar]], ...]] = (
    (
        "is_bot",
        "Bot",
        "`true` or `false`. Like the following three, of use with `include_bots` only: answers leave bots out otherwise.",
        MappingProxyType({"true": True, "false": False}),
    ),
    (
        "bot_reason",
        "Bot reason",
        "What makes it a bot: `known_agent`, else `headless`, `prefetch` or `referrer_spam`.",
        MappingProxyType({}),
    ),
    (
        "crawler",
        "Crawler",
        "Name of the crawler, where a list of known user agents has it.",
        MappingProxyType({}),
    ),
    (
        "crawler_class",
        "Kind of crawler",
        "`ai_training`, `ai_search`, `ai_assistant` (fetches pages for a person), `search_engine` or `other`.",
        MappingProxyType({}),
    ),
)
_FIRST_TOUCH_DIMENSIONS: Final = (
    ("first_touch_channel", "channel", "First channel", "Channel of the first visit ever of the person."),
    (
        "first_touch_source",
        "attribution_source",
        "First source",
        "Source of the first visit ever of the person.",
    ),
    (
        "first_touch_campaign",
        "utm_campaign",
        "First campaign",
        "`utm_campaign` of the first visit ever of the person.",
    ),
)
_SUBSCRIPTION_DIMENSIONS: Final = (
    ("plan", "Plan", "Subscription plan, where the revenue provider reports it."),
)
_AD_DIMENSIONS: Final = (
    ("platform", "platform", "Ad platform", "Ad platform, by its id."),
    ("ad_account_id", "account_id", "Ad account", "Id of the ad account."),
    ("campaign_id", "campaign_id", "Campaign id", "Id of the campaign at the ad platform."),
    ("campaign_name", "campaign_name", "Campaign name", "Name of the campaign at the ad platform."),
    ("ad_group_id", "group_id", "Ad group id", "Id of the ad group or ad set."),
    ("ad_group_name", "group_name", "Ad group name", "Name of the ad group or ad set."),
    ("ad_id", "ad_id", "Ad id", "Id of the ad."),
    ("ad_name", "ad_name", "Ad name", "Name of the ad."),
)

CORE_DIMENSIONS: Final = (
    *(
        Dimension(id_, label, text, _make_session_columns(id_, touch=True))
        for id_, label, text in _TOUCH_DIMENSIONS
    ),
    Dimension(
        "referrer_host",
        "Referrer",
        "Host of the referrer without `www.`.",
        _make_session_columns("referrer_host", touch=True),
        null_label="(direct)",
    ),
    Dimension(
        "landing_page",
        "Landing page",
        "First page of the session.",
        _make_session_columns("landing_page", touch=True),
    ),
    Dimension("page_path", "Page", "Path of the page, without its query.", _make_event_columns("page_path")),
    Dimension(
        "event_name",
        "Event",
        "Name of the event as sent.",
        _make_event_columns("event_name", Relation.CREDITS),
    ),
    Dimension(
        "source",
        "Transport",
        "How the event came in, such as `browser` or `api`.",
        _make_event_columns("source"),
    ),
    *(
        Dimension(id_, label, text, _make_session_columns(id_))
        for id_, label, text in _LOCATION_AND_DEVICE_DIMENSIONS
    ),
    Dimension(
        "import",
        "Import",
        "Id of the import that brought the event in, `(not set)` for events that were sent; of a session its first event's, "
        "of money that of the event it arose in.",
        MappingProxyType(
            dict.fromkeys((*_SESSION_RELATIONS, Relation.PAYMENTS), property_label_column(IMPORT_PROPERTY))
        ),
    ),
    *(
        Dimension(
            id_,
            label,
            text,
            MappingProxyType(dict.fromkeys((Relation.EVENTS, Relation.SESSIONS), column)),
        )
        for id_, label, text, column in _VISIT_DIMENSIONS
    ),
    *(
        Dimension(
            id_,
            label,
            text,
            MappingProxyType({Relation.EVENTS: Column(id_), Relation.SESSIONS: entry_column(id_)}),
            labels=labels,
        )
        for id_, label, text, labels in _BOT_DIMENSIONS
    ),
    Dimension(
        "new_vs_returning",
        "New or returning",
        "`new` when the first event ever lies in the range, else `returning`.",
        MappingProxyType(
            dict.fromkeys(_SESSION_RELATIONS, Column("visitor_is_new"))
            | dict.fromkeys((Relation.PAYMENTS, Relation.CREDITS), Column("person_is_new"))
        ),
        labels=MappingProxyType({"new": True, "returning": False}),
    ),
    Dimension(
        "provider",
        "Provider",
        "Where the money was reported: `tracked`, or a revenue provider.",
        _make_payment_columns("provider", "provider"),
    ),
    Dimension(
        "currency",
        "Currency",
        "Original currency of the money, ISO 4217.",
        _make_payment_columns("currency", "sold_in"),
    ),
    Dimension(
        "product",
        "Product",
        "Product of a subscription, where the revenue provider reports it; of an order, the id of each of its items, whose "
        "parts add up to the order.",
        MappingProxyType(
            dict.fromkeys((Relation.PAYMENTS, Relation.SUBSCRIPTIONS, Relation.COSTS), Column("product"))
        ),
    ),
    *(
        Dimension(id_, label, text, MappingProxyType({Relation.SUBSCRIPTIONS: Column(id_)}))
        for id_, label, text in _SUBSCRIPTION_DIMENSIONS
    ),
    *(
        Dimension(id_, label, text, MappingProxyType({Relation.PAYMENTS: touch_column(column)}))
        for id_, column, label, text in _FIRST_TOUCH_DIMENSIONS
    ),
    *(Dimension(id_, label, text, _make_ad_columns(column)) for id_, column, label, text in _AD_DIMENSIONS),
)
"""Every dimension of the core, in the order of the catalog."""

SESSION_SOURCE_DIMENSIONS: Final = (
    *(id_ for id_, _, _ in _TOUCH_DIMENSIONS), "referrer_host", "landing_page",
)  # fmt: skip
"""Values of the session, or of the touch in attributed metrics; of money, of the session in which it arose."""

EVENT_DIMENSIONS: Final = ("page_path", "event_name", "source")
"""Values of each event, for metrics counted from events."""

LOCATION_AND_DEVICE_DIMENSIONS: Final = tuple(id_ for id_, _, _ in _LOCATION_AND_DEVICE_DIMENSIONS)
"""Location and device of the session; of money, of the session in which it arose."""

IMPORT_DIMENSIONS: Final = ("import",)
"""The import that brought it in; every number that counts events can leave imports out."""

VISIT_DIMENSIONS: Final = tuple(id_ for id_, _, _, _ in (*_VISIT_DIMENSIONS, *_BOT_DIMENSIONS))
"""How the session ended, on which site and on which screen, and which bot it was; for traffic and engagement."""

NEW_OR_RETURNING: Final = ("new_vs_returning",)
FIRST_TOUCH_DIMENSIONS: Final = tuple(id_ for id_, _, _, _ in _FIRST_TOUCH_DIMENSIONS)
"""How a customer first came."""

PAYMENT_DIMENSIONS: Final = ("product", "provider", "currency", "plan")
AD_DIMENSIONS: Final = tuple(id_ for id_, _, _, _ in _AD_DIMENSIONS)
"""Ad entities; attributed metrics match them by the UTM values and click ids of touches."""
