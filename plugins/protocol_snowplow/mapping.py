"""Maps payloads of Snowplow's trackers."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from plugins.protocol_snowplow.commerce import COMMERCE_ACTION, map_commerce_action
from service_core.plugin import (
    ProtocolEvent,
    ProtocolRequest,
    UnreadableRequest,
    campaign_values_of_url,
    decode_base64_or_none,
    drop_none,
    event_time_by_server_clock_or_as_sent,
    json_object,
    screen_size_properties,
    text_field,
)

_READ: Final = frozenset(
    {
        *(
            "e",
            "aid",
            "eid",
            "dtm",
            "ttm",
            "stm",
            "duid",
            "uid",
            "nuid",
            "tnuid",
            "sid",
            "url",
            "page",
            "refr",
            "res",
        ),
        *(
            "lang",
            "ua",
            "ip",
            "tv",
            "p",
            "se_ca",
            "se_ac",
            "se_la",
            "se_pr",
            "se_va",
            "ue_px",
            "ue_pr",
            "cx",
            "co",
        ),
        *(
            "tr_id",
            "tr_tt",
            "tr_tx",
            "tr_sh",
            "tr_cu",
            "tr_af",
            "ti_id",
            "ti_sk",
            "ti_nm",
            "ti_ca",
            "ti_pr",
            "ti_qu",
        ),
        *("ti_cu", "pp_mix", "pp_max", "pp_miy", "pp_may"),
    }
)
_TRANSPORT: Final = frozenset(
    {
        *(
            "tna",
            "tz",
            "vid",
            "vp",
            "ds",
            "cd",
            "cookie",
            "cs",
            "fp",
            "f_pdf",
            "f_qt",
            "f_realp",
            "f_wma",
            "f_dir",
        ),
        *("f_fla", "f_java", "f_gears", "f_ag", "tr_ci", "tr_st", "tr_co", "mac"),
    }
)
"""Parameters of the tracker and of the browser's features; they say nothing about the event."""
_STRUCTURED: Final = {"se_ca": "category", "se_la": "label", "se_pr": "property", "se_va": "event_value"}
_ORDER: Final = {
    "tr_id": "order_id",
    "tr_tt": "value",
    "tr_tx": "tax",
    "tr_sh": "shipping",
    "tr_cu": "currency",
    "tr_af": "affiliation",
}
_ITEM: Final = {
    "ti_id": "order_id",
    "ti_sk": "sku",
    "ti_nm": "name",
    "ti_ca": "category",
    "ti_pr": "price",
    "ti_qu": "quantity",
}
_PING: Final = {"pp_mix": "min_x", "pp_max": "max_x", "pp_miy": "min_y", "pp_may": "max_y"}
_KINDS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "pv": ("page_view", {}),
    "pp": ("page_ping", _PING),
    "tr": ("purchase", _ORDER),
    "ti": ("order_item", _ITEM),
}
"""Kind of event -> its name, and names of its fields."""
_DEVICE_IDS: Final = ("duid", "nuid", "tnuid")
_SESSION_CONTEXT: Final = "client_session"
"""The context in which apps, which have no ``duid`` and ``sid``, name device and session."""
_ANONYMOUS_HEADER: Final = "sp-anonymous"
"""The header of clients that ask for no address to be stored."""
_SCHEMA: Final = re.compile(r"iglu:[^/]+/([^/]+)/jsonschema/[0-9-]+")


def map_event(payload: Mapping[str, Any], request: ProtocolRequest) -> ProtocolEvent:
    """Returns the event of a payload."""
    named = _list_contexts(payload, request)
    name, own = _name_and_properties(payload, named, request)
    contexts = dict(named)
    session = json_object(contexts.get(_SESSION_CONTEXT))
    known = {
        "url": payload.get("url"),
        "title": payload.get("page"),
        "referrer": payload.get("refr"),
        "contexts": contexts,
        **screen_size_properties(payload.get("res")),
    }
    happened = payload.get("ttm") or event_time_by_server_clock_or_as_sent(
        payload.get("dtm"), payload.get("stm"), request.received_at
    )
    body = {
        "event": name,
        "event_id": payload.get("eid"),
        "timestamp": happened,
        "user_id": payload.get("uid"),
        "anonymous_id": next(filter(None, map(payload.get, _DEVICE_IDS)), None) or _device_of(session),
        "ip": "0" if _ANONYMOUS_HEADER in request.headers else payload.get("ip"),
        "properties": campaign_values_of_url(payload.get("url")) | own | drop_none(known),
        "context": drop_none(
            {
                "library": {"name": "snowplow", "version": payload.get("tv") or "0"},
                "session_id": payload.get("sid") or session.get("sessionId"),
                "locale": payload.get("lang"),
                "userAgent": payload.get("ua"),
            }
        ),
    }
    unread = [field for field in payload if field not in _READ and field not in _TRANSPORT]
    return ProtocolEvent(drop_none(body), unread, text_field(payload, "aid"))


def _device_of(session: Mapping[str, Any]) -> str | None:
    """Returns the id of the device of an app; None for the zeros that it sends without consent."""
    device = text_field(session, "userId")
    return device if device and device.strip("0-") else None


def _name_and_properties(
    payload: Mapping[str, Any], contexts: Sequence[tuple[str, Any]], request: ProtocolRequest
) -> tuple[object, dict[str, Any]]:
    """Returns the name of the event and what belongs to this kind of event alone."""
    kind = payload.get("e")
    if kind == "ue":
        outer = json_object(_decode(payload, "ue_px", "ue_pr", request))
        inner = json_object(outer.get("data"))
        name, data = _schema_name(inner.get("schema")), json_object(inner.get("data"))
        return map_commerce_action(data, contexts) if name == COMMERCE_ACTION else (name, data)
    if kind == "se":
        return payload.get("se_ac"), _renamed(payload, _STRUCTURED)
    if not isinstance(kind, str) or kind not in _KINDS:
        return None, {}
    name, fields = _KINDS[kind]
    return name, _renamed(payload, fields) | ({"interactive": False} if kind == "pp" else {})


def _renamed(payload: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return drop_none({ours: payload.get(theirs) for theirs, ours in names.items()})


def _list_contexts(payload: Mapping[str, Any], request: ProtocolRequest) -> list[tuple[str, Any]]:
    """Returns the name of the schema of each context, and its data."""
    contexts = json_object(_decode(payload, "cx", "co", request)).get("data")
    named = (
        ((_schema_name(json_object(one).get("schema")), one) for one in contexts or ())
        if isinstance(contexts, list)
        else ()
    )
    return [(name, one.get("data")) for name, one in named if name]


def _decode(payload: Mapping[str, Any], in_base64: str, plain: str, request: ProtocolRequest) -> Any:
    """Returns the JSON value of a field that a tracker sends as base64 or as it is; None if it is neither."""
    encoded, text = payload.get(in_base64), payload.get(plain)
    if isinstance(encoded, str):
        raw = decode_base64_or_none(encoded)
    else:
        raw = text.encode("utf-8", "replace") if isinstance(text, str) else None
    try:
        return request.parse_json(raw) if raw else None
    except UnreadableRequest:
        return None


def _schema_name(schema: object) -> str | None:
    matched = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    return matched[1] if matched else None
