"""Maps events of the tag, whose parameters have short names."""

import re
from collections.abc import Mapping
from typing import Any, Final

from plugins.protocol_ga4.mapping import NOT_INTERACTIVE
from service_core.plugin import ProtocolEvent, campaign_values_of_url, drop_none, screen_size_properties

_READ: Final = frozenset(
    {"v", "tid", "cid", "uid", "sid", "en", "dl", "dr", "dt", "ul", "sr", "cu", "_et", "gcs", "_uip"}
)
_TRANSPORT: Final = frozenset(
    {
        *(
            "gtm",
            "_p",
            "_s",
            "_z",
            "_eu",
            "_ee",
            "_fv",
            "_nsi",
            "_ss",
            "_c",
            "_dbg",
            "sct",
            "seg",
            "gcd",
            "npa",
        ),
        *(
            "dma",
            "dma_cps",
            "tag_exp",
            "tfd",
            "are",
            "frm",
            "pscdl",
            "gdid",
            "_gaz",
            "richsstsse",
            "z",
            "pae",
        ),
        *(
            "uaa",
            "uab",
            "uafvl",
            "uamb",
            "uam",
            "uap",
            "uapv",
            "uaw",
            "ngs",
            "ecid",
            "ir",
            "ur",
            "lps",
            "_tu",
            "ec_mode",
        ),
    }
)
"""Parameters for the vendor's servers; they say nothing about the event."""
_ITEM: Final = re.compile(r"pr[0-9]{1,3}")
_ITEM_FIELDS: Final = {
    "id": "item_id",
    "nm": "item_name",
    "pr": "price",
    "qt": "quantity",
    "ca": "item_category",
    "br": "item_brand",
    "va": "item_variant",
}
_PREFIX_LENGTH: Final = 2
_CONSENT_STATE: Final = re.compile(r"G1([01])[01-]")


def map_tag_event(fields: Mapping[str, str]) -> ProtocolEvent:
    """Returns the event of these parameters."""
    name = fields.get("en")
    known: dict[str, Any] = {
        "url": fields.get("dl"),
        "referrer": fields.get("dr"),
        "title": fields.get("dt"),
        "currency": fields.get("cu"),
        "engagement_time_msec": fields.get("_et"),
        "items": [_item(value) for field, value in fields.items() if _ITEM.fullmatch(field)] or None,
    }
    if name in NOT_INTERACTIVE:
        known["interactive"] = False
    consent = _CONSENT_STATE.match(fields.get("gcs", ""))
    body = {
        "event": name,
        "user_id": fields.get("uid"),
        "anonymous_id": fields.get("cid"),
        "ip": fields.get("_uip"),
        "consent": {"ad_storage": "denied"} if consent and consent[1] == "0" else None,
        "properties": {
            **_event_parameters(fields),
            **campaign_values_of_url(fields.get("dl")),
            **screen_size_properties(fields.get("sr")),
            **drop_none(known),
        },
        "context": drop_none(
            {
                "library": {"name": "gtag", "version": fields.get("v", "2")},
                "session_id": fields.get("sid"),
                "locale": fields.get("ul"),
            }
        ),
    }
    return ProtocolEvent(drop_none(body), [field for field in fields if not _is_read(field)])


def _event_parameters(fields: Mapping[str, str]) -> dict[str, Any]:
    """Returns the event's own parameters; those of the user are an object of their own."""
    own: dict[str, Any] = {}
    user: dict[str, Any] = {}
    for field, value in fields.items():
        prefix, dot, name = field.partition(".")
        if dot and name and prefix in {"ep", "epn"}:
            own[name] = _number_or_text(value) if prefix == "epn" else value
        elif dot and name and prefix in {"up", "upn"}:
            user[name] = _number_or_text(value) if prefix == "upn" else value
    return {**own, "user_properties": user} if user else own


def _item(text: str) -> dict[str, Any]:
    """Returns an item of an order, such as ``idSKU~nmName~pr9.99~qt1``."""
    parts = ((part[:_PREFIX_LENGTH], part[_PREFIX_LENGTH:]) for part in text.split("~"))
    return {_ITEM_FIELDS[prefix]: value for prefix, value in parts if prefix in _ITEM_FIELDS}


def _is_read(field: str) -> bool:
    prefix, dot, _ = field.partition(".")
    is_own = bool(dot) and prefix in {"ep", "epn", "up", "upn"}
    return is_own or field in _READ or field in _TRANSPORT or _ITEM.fullmatch(field) is not None


def _number_or_text(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value
