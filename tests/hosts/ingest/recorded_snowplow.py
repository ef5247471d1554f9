"""Requests as Snowplow's published trackers send them, by the vendor's documented format."""

import base64
import json
from urllib.parse import urlencode

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample

SCHEMA = "iglu:com.snowplowanalytics.snowplow/payload_data/jsonschema/1-0-4"
UNSTRUCT = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0"
CONTEXTS = "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-0"


def _payload(key, **fields):
    shared = {
        "aid": key,
        "p": "web",
        "tv": "js-3.24.0",
        "tna": "sp",
        "duid": "d1",
        "sid": "s1",
        "vid": "1",
        "dtm": "1783519200000",
        "stm": "1783519201000",
        "url": "https://shop.example/a?utm_source=news",
        "refr": "https://www.google.com/",
        "page": "Shop",
        "res": "1920x1080",
        "lang": "en-GB",
        "tz": "Europe/Berlin",
        "cs": "UTF-8",
    }
    return {**shared, **fields}


def _base64(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def tracker_batch(key):
    click = {
        "schema": "iglu:com.example/link_click/jsonschema/1-0-1",
        "data": {"targetUrl": "https://b.example"},
    }
    page = {"schema": "iglu:com.example/web_page/jsonschema/1-0-0", "data": {"id": "p1"}}
    events = [
        _payload(key, e="pv", eid="sp-1", cx=_base64({"schema": CONTEXTS, "data": [page]})),
        _payload(key, e="ue", eid="sp-2", ue_px=_base64({"schema": UNSTRUCT, "data": click})),
        _payload(key, e="se", eid="sp-3", se_ca="video", se_ac="play", se_va="3"),
        _payload(key, e="pp", eid="sp-4", pp_mix="0", pp_may="300"),
        _payload(key, e="tr", eid="sp-5", uid="u1", tr_id="o-7", tr_tt="12.5", tr_cu="EUR"),
    ]
    body = json.dumps({"schema": SCHEMA, "data": events}).encode()
    return RecordedRequest("/com.snowplowanalytics.snowplow/tp2", body)


def image_page_view(key):
    query = urlencode(_payload(key, e="pv", eid="sp-6"))
    return RecordedRequest("/i", query=query, method="GET")


SAMPLES = {
    "tracker batch": RecordedSample(tracker_batch, 5),
    "image page view": RecordedSample(image_page_view),
}
