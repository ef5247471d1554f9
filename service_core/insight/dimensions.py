"""Every way to split a metric by (contract 4.2)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from service_core.insight.catalog import Dimension
from service_core.insight.columns import JOINED
from service_core.insight.measures import Relation

_SESSION_RELATIONS: Final = (Relation.EVENTS, Relation.SESSIONS, Relation.CONVERSIONS)


def _of_session(column: str, *, touch: bool = False) -> Mapping[Relation, str]:
    """The value of the session; in credits, that of the touch."""
    columns = dict.fromkeys(_SESSION_RELATIONS, f"entry.{column}")
    return MappingProxyType(columns | ({Relation.CREDITS: f"touch.{column}"} if touch else {}))


def _of_event(column: str, *further: Relation) -> Mapping[Relation, str]:
    """The value of the event itself."""
    return MappingProxyType(dict.fromkeys((Relation.EVENTS, Relation.CONVERSIONS, *further), column))


def _of_money(column: str, sold: str) -> Mapping[Relation, str]:
    """The value of a movement of money or of a subscription; of costs, that of what was sold."""
    money = dict.fromkeys((Relation.MONEY, Relation.SUBSCRIPTIONS), column)
    return MappingProxyType({**money, Relation.COSTS: sold})


def _of_ads(column: str) -> Mapping[Relation, str]:
    """A column of ad entities; conversions are sent to platforms alone."""
    sent = {Relation.DELIVERIES: column} if column == "platform" else {}
    return MappingProxyType({Relation.SPEND: column, Relation.CREDITS: f"{JOINED}{column}", **sent})


_TOUCHED: Final = (
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
_VISITED: Final = (
    ("country", "Country", "Country of the session, ISO 3166-1 alpha-2."),
    ("region", "Region", "Region of the session."),
    ("city", "City", "City of the session."),
    ("device_type", "Device type", "`desktop`, `mobile`, `tablet`, `tv` or `other`."),
    ("browser", "Browser", "Browser of the session."),
    ("os", "Operating system", "Operating system of the session."),
    ("language", "Language", "Language of the browser or application."),
    ("app_version", "App version", "Version of the application."),
)
_SOLD: Final = (
    ("product", "Product", "Product, where the revenue provider reports it."),
    ("plan", "Plan", "Subscription plan, where the revenue provider reports it."),
)
_ADVERTISED: Final = (
    ("platform", "platform", "Ad platform", "Ad platform, such as `meta`."),
    ("ad_account_id", "account_id", "Ad account", "Id of the ad account."),
    ("campaign_id", "campaign_id", "Campaign id", "Id of the campaign at the ad platform."),
    ("campaign_name", "campaign_name", "Campaign name", "Name of the campaign at the ad platform."),
    ("ad_group_id", "group_id", "Ad group id", "Id of the ad group or ad set."),
    ("ad_group_name", "group_name", "Ad group name", "Name of the ad group or ad set."),
    ("ad_id", "ad_id", "Ad id", "Id of the ad."),
    ("ad_name", "ad_name", "Ad name", "Name of the ad."),
)

DIMENSIONS: Final = (
    *(Dimension(id_, label, text, _of_session(id_, touch=True)) for id_, label, text in _TOUCHED),
    Dimension(
        "referrer_host",
        "Referrer",
        "Host of the referrer without `www.`.",
        _of_session("referrer_host", touch=True),
        absent="(direct)",
    ),
    Dimension(
        "landing_page", "Landing page", "First page of the session.", _of_session("landing_page", touch=True)
    ),
    Dimension("page_path", "Page", "Path of the page, without its query.", _of_event("page_path")),
    Dimension("event_name", "Event", "Name of the event as sent.", _of_event("event_name", Relation.CREDITS)),
    Dimension(
        "source", "Transport", "How the event came in, such as `browser` or `api`.", _of_event("source")
    ),
    *(Dimension(id_, label, text, _of_session(id_)) for id_, label, text in _VISITED),
    Dimension(
        "new_vs_returning",
        "New or returning",
        "`new` when the first event ever lies in the range, else `returning`.",
        MappingProxyType(
            dict.fromkeys(_SESSION_RELATIONS, "visitor_is_new")
            | dict.fromkeys((Relation.MONEY, Relation.CREDITS), "person_is_new")
        ),
        labels=MappingProxyType({"new": True, "returning": False}),
    ),
    Dimension(
        "provider",
        "Provider",
        "Where the money was reported: `tracked`, or a revenue provider.",
        _of_money("provider", "provider"),
    ),
    Dimension(
        "currency",
        "Currency",
        "Original currency of the money, ISO 4217.",
        _of_money("currency", "sold_in"),
    ),
    *(
        Dimension(id_, label, text, MappingProxyType({Relation.SUBSCRIPTIONS: id_}))
        for id_, label, text in _SOLD
    ),
    *(Dimension(id_, label, text, _of_ads(column)) for id_, column, label, text in _ADVERTISED),
)
"""Every dimension of the core, in the order of the contract."""

SESSION: Final = (
    *(id_ for id_, _, _ in _TOUCHED), "referrer_host", "landing_page",
)  # fmt: skip
"""Values of the session, or of the touch in attributed metrics."""

EVENT: Final = ("page_path", "event_name", "source")
"""Values of each event: for metrics counted from events."""

VISIT: Final = tuple(id_ for id_, _, _ in _VISITED)
"""Place and device of the session."""

NEWNESS: Final = ("new_vs_returning",)
MONEY: Final = ("product", "provider", "currency", "plan")
ADS: Final = tuple(id_ for id_, _, _, _ in _ADVERTISED)
"""Ad entities; attributed metrics reach them by the join of semantics 12.3."""
