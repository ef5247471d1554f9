"""Requests as Mixpanel's published libraries send them, by the vendor's documented format."""

import base64
import json
from urllib.parse import urlencode

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample

FORM = {"content-type": "application/x-www-form-urlencoded"}


def browser_track(key):
    """The browser library: a list of events in the form field ``data``."""
    properties = {
        "$os": "Linux",
        "$browser": "Chrome",
        "$current_url": "https://shop.example/a?utm_source=news",
        "$screen_height": 1080,
        "$screen_width": 1920,
        "mp_lib": "web",
        "$lib_version": "2.65.0",
        "$insert_id": "ins-1",
        "time": 1783519200.5,
        "distinct_id": "$device:d1",
        "$device_id": "d1",
        "$initial_referrer": "$direct",
        "$referrer": "https://www.google.com/",
        "token": key,
    }
    data = json.dumps([{"event": "$mp_web_page_view", "properties": properties}])
    return RecordedRequest("/mixpanel/track/", urlencode({"data": data}).encode(), "verbose=1&ip=1", FORM)


def python_track(key):
    """The library for Python: one event as base64."""
    properties = {
        "token": key,
        "distinct_id": "u2",
        "time": 1783519200,
        "$insert_id": "ins-2",
        "mp_lib": "python",
    }
    event = {"event": "purchase", "properties": {**properties, "value": 9.5, "order_id": "o-5"}}
    data = base64.b64encode(json.dumps(event).encode()).decode()
    return RecordedRequest("/mixpanel/track", urlencode({"data": data, "verbose": 1}).encode(), "", FORM)


def engage(key):
    update = {"$token": key, "$distinct_id": "u2", "$set": {"$email": "ada@example.com", "plan": "pro"}}
    return RecordedRequest("/mixpanel/engage", json.dumps([update]).encode())


def import_events(key):
    properties = {"time": 1783519200, "distinct_id": "u2", "$insert_id": "ins-3"}
    token = base64.b64encode(f"{key}:".encode()).decode()
    body = json.dumps([{"event": "signup", "properties": properties}]).encode()
    headers = {"authorization": f"Basic {token}", "content-type": "application/json"}
    return RecordedRequest("/mixpanel/import", body, "strict=1", headers)


SAMPLES = {
    "browser track": RecordedSample(browser_track),
    "python track": RecordedSample(python_track),
    "engage": RecordedSample(engage),
    "import": RecordedSample(import_events),
}
