"""Maps requests of Matomo's clients."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from service_core.plugin import ProtocolEvent, campaign_values_of_url, drop_none, screen_size_properties

_READ: Final = frozenset(
    {
        *(
            "idsite",
            "rec",
            "action_name",
            "url",
            "urlref",
            "_id",
            "uid",
            "cid",
            "res",
            "ua",
            "lang",
            "cdt",
            "cip",
        ),
        *(
            "e_c",
            "e_a",
            "e_n",
            "e_v",
            "idgoal",
            "revenue",
            "ec_id",
            "ec_items",
            "ec_tx",
            "ec_sh",
            "ec_dt",
            "ec_st",
        ),
        *(
            "link",
            "download",
            "search",
            "search_cat",
            "search_count",
            "c_n",
            "c_p",
            "c_t",
            "c_i",
            "ping",
            "pv_id",
        ),
        *("_rcn", "_rck", "cvar", "_cvar", "token_auth", "ca", "ecurr"),
    }
)
_TRANSPORT: Final = frozenset(
    {
        *(
            "rand",
            "apiv",
            "cookie",
            "send_image",
            "h",
            "m",
            "s",
            "r",
            "gt_ms",
            "uadata",
            "queuedtracking",
            "bots",
        ),
        *(
            "pdf",
            "qt",
            "realp",
            "wma",
            "fla",
            "java",
            "gears",
            "ag",
            "dir",
            "new_visit",
            "_idts",
            "_idvc",
            "_idn",
        ),
        *(
            "_viewts",
            "_refts",
            "_ref",
            "_ects",
            "cs",
            "pf_net",
            "pf_srv",
            "pf_tfr",
            "pf_dm1",
            "pf_dm2",
            "pf_onl",
        ),
    }
)
"""Parameters for the vendor's servers; they say nothing about the event."""
_DIMENSION: Final = re.compile(r"dimension[0-9]{1,4}")
_CAMPAIGN_PARAMETERS: Final = {
    **{f"{start}_campaign": "utm_campaign" for start in ("mtm", "matomo", "pk", "piwik")},
    **{
        f"{start}_{name}": f"utm_{name}"
        for start in ("mtm", "pk")
        for name in ("source", "medium", "content")
    },
    **{f"{start}_{name}": "utm_term" for start in ("mtm", "pk") for name in ("kwd", "keyword")},
}
_KNOWN_PARAMETERS: Final = frozenset({*_READ, *_TRANSPORT, *_CAMPAIGN_PARAMETERS})
_UNSET: Final = "undefined"
"""What clients in JavaScript send for a parameter without a value."""
_ITEM_FIELDS: Final = ("sku", "name", "category", "price", "quantity")
_CART_GOAL: Final = "0"
_HEARTBEAT: Final = "heartbeat"


def map_request(fields: Mapping[str, str], *, has_token: bool, key: str | None) -> ProtocolEvent:
    """Returns the event of one request.

    Args:
        fields: its parameters.
        has_token: whether a token proves that a server sends it: only then its address of the visitor counts.
        key: the key that it names for itself.
    """
    fields = {name: value for name, value in fields.items() if value != _UNSET}
    name, own = _name_and_properties(fields)
    url = fields.get("url")
    known: dict[str, Any] = {
        "url": url,
        "referrer": fields.get("urlref"),
        "title": fields.get("action_name"),
        "page_view_id": fields.get("pv_id"),
        "custom_variables": _json_or_none(fields.get("cvar") or fields.get("_cvar")),
        **{field: value for field, value in fields.items() if _DIMENSION.fullmatch(field)},
    }
    unread = [field for field in fields if field not in _KNOWN_PARAMETERS and not _DIMENSION.fullmatch(field)]
    unread += ["cip"] if "cip" in fields and not has_token else []
    body = {
        "event": name,
        "timestamp": fields.get("cdt"),
        "user_id": fields.get("uid"),
        "anonymous_id": fields.get("cid") or fields.get("_id"),
        "ip": fields.get("cip") if has_token else None,
        "properties": {
            **_campaign_parameters(fields),
            **screen_size_properties(fields.get("res")),
            **drop_none(known),
            **drop_none(own),
        },
        "context": drop_none(
            {
                "library": {"name": "matomo", "version": fields.get("apiv", "1")},
                "locale": fields.get("lang"),
                "userAgent": fields.get("ua"),
            }
        ),
    }
    return ProtocolEvent(drop_none(body), unread, key)


def _name_and_properties(fields: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Returns the name of the event and what belongs to this kind of event alone."""
    if "ping" in fields:
        return _HEARTBEAT, {"interactive": False}
    if "e_c" in fields or "e_a" in fields:
        return fields.get("e_a") or fields.get("e_c") or "event", {
            "category": fields.get("e_c"),
            "label": fields.get("e_n"),
            "event_value": fields.get("e_v"),
        }
    if "idgoal" in fields:
        return _goal_or_order(fields)
    return _click_or_view(fields)


def _click_or_view(fields: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Returns a clicked link, a search, seen content, an action of another kind, or else a page view."""
    if "link" in fields or "download" in fields:
        kind = "download" if "download" in fields else "outlink"
        return kind, {"target": fields.get("download") or fields.get("link")}
    if "search" in fields:
        return "search", {
            "search_term": fields["search"],
            "search_category": fields.get("search_cat"),
            "results": fields.get("search_count"),
        }
    if "c_n" in fields:
        kind = "content_interaction" if "c_i" in fields else "content_impression"
        content = {"content_name": fields["c_n"], "content_piece": fields.get("c_p")}
        return kind, {**content, "target": fields.get("c_t"), "interactive": "c_i" in fields}
    return ("custom_action" if fields.get("ca") == "1" else "page_view"), {}


def _goal_or_order(fields: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    order = {
        "value": fields.get("revenue"),
        "currency": fields.get("ecurr"),
        "items": _parse_items(fields.get("ec_items")),
    }
    if fields["idgoal"] != _CART_GOAL:
        return "goal", {**order, "goal_id": fields["idgoal"]}
    if "ec_id" not in fields:
        return "cart_update", order
    return "purchase", {
        **order,
        "order_id": fields["ec_id"],
        "subtotal": fields.get("ec_st"),
        "tax": fields.get("ec_tx"),
        "shipping": fields.get("ec_sh"),
        "discount": fields.get("ec_dt"),
    }


def _parse_items(text: str | None) -> list[dict[str, Any]] | None:
    items = _json_or_none(text)
    if not isinstance(items, list):
        return None
    return [dict(zip(_ITEM_FIELDS, item, strict=False)) for item in items if isinstance(item, list)] or None


def _campaign_parameters(fields: Mapping[str, str]) -> dict[str, Any]:
    """Returns the campaign of the URL, by its own parameters and by those of the product, or that of request or visit."""
    campaign = drop_none({"utm_campaign": fields.get("_rcn"), "utm_term": fields.get("_rck")})
    url = fields.get("url", "")
    try:
        query = parse_qsl(urlsplit(url).query, errors="replace", max_num_fields=200)
    except ValueError:
        query = []
    for name, value in (*fields.items(), *query):
        if name in _CAMPAIGN_PARAMETERS:
            campaign[_CAMPAIGN_PARAMETERS[name]] = value
    return {**campaign, **campaign_values_of_url(url)}


def _json_or_none(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
