"""Requests as Matomo's published clients send them, by the vendor's documented format."""

import json
from urllib.parse import urlencode

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample


def _fields(key, **fields):
    shared = {"idsite": key, "rec": "1", "r": "123456", "h": "14", "m": "1", "s": "2", "send_image": "0"}
    visitor = {
        "_id": "0123456789abcdef",
        "url": "https://shop.example/a?mtm_campaign=july",
        "res": "1920x1080",
    }
    return {**shared, **visitor, **fields}


def script_page_view(key):
    """The script sends a beacon whose body is a form."""
    fields = _fields(key, action_name="Shop", urlref="https://www.google.com/", pv_id="abc123", _idn="0")
    return RecordedRequest("/matomo.php", urlencode(fields).encode())


def image_event(key):
    fields = _fields(key, e_c="Video", e_a="play", e_n="Intro", e_v="3")
    del fields["send_image"]
    return RecordedRequest("/matomo.php", query=urlencode(fields), method="GET")


def order(key):
    items = json.dumps([["SKU_1", "Tea", "Drinks", 5, 2]])
    fields = _fields(key, idgoal="0", ec_id="o-6", revenue="12.5", ec_tx="2", ec_items=items)
    return RecordedRequest("/matomo.php", query=urlencode(fields), method="POST")


def bulk(key):
    requests = [f"?{urlencode(_fields(key, action_name='One'))}", f"?{urlencode(_fields(key, ping='1'))}"]
    return RecordedRequest("/matomo.php", json.dumps({"requests": requests}).encode())


SAMPLES = {
    "script page view": RecordedSample(script_page_view),
    "image event": RecordedSample(image_event),
    "order": RecordedSample(order),
    "bulk": RecordedSample(bulk, 2),
}
