"""Requests as PostHog's published libraries send them, by the vendor's documented format."""

import base64
import json
from urllib.parse import urlencode

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"


def browser_events(key):
    """The browser library: page view and identification, as a base64 form."""
    shared = {
        "$current_url": "https://shop.example/a?utm_source=news&gclid=g1",
        "$host": "shop.example",
        "$pathname": "/a",
        "$referrer": "https://www.google.com/",
        "$lib": "web",
        "$lib_version": "1.258.2",
        "$device_id": "d1",
        "$session_id": "s1",
        "$browser_language": "en-GB",
        "$screen_width": 1920,
        "$screen_height": 1080,
        "$raw_user_agent": CHROME,
        "token": key,
    }
    view = {**shared, "distinct_id": "d1", "$is_identified": False, "$insert_id": "i1"}
    identify = {
        **shared,
        "distinct_id": "u1",
        "$anon_distinct_id": "d1",
        "$set": {"email": "ada@example.com"},
    }
    events = [
        {"uuid": "e-1", "event": "$pageview", "properties": view, "timestamp": "2026-07-08T14:00:00.000Z"},
        {
            "uuid": "e-2",
            "event": "$identify",
            "properties": identify,
            "timestamp": "2026-07-08T14:00:01.000Z",
        },
    ]
    data = base64.b64encode(json.dumps(events).encode()).decode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    query = "compression=base64&ip=1&ver=1.258.2"
    return RecordedRequest("/e/", urlencode({"data": data}).encode(), query, headers)


def python_batch(key):
    body = {
        "api_key": key,
        "historical_migration": False,
        "sentAt": "2026-07-08T14:59:30Z",
        "batch": [
            {
                "event": "purchase",
                "distinct_id": "u2",
                "uuid": "p-1",
                "timestamp": "2026-07-08T14:59:00Z",
                "properties": {"value": 12.5, "currency": "EUR", "order_id": "o-3", "$lib": "posthog-python"},
                "$set": {"plan": "pro"},
            }
        ],
    }
    headers = {"content-type": "application/json", "user-agent": "posthog-python/6.7.0"}
    return RecordedRequest("/batch/", json.dumps(body).encode(), headers=headers)


def single_capture(key):
    body = {"api_key": key, "event": "signup", "distinct_id": "u3", "properties": {}}
    return RecordedRequest("/capture/", json.dumps(body).encode())


SAMPLES = {
    "browser events": RecordedSample(browser_events, 2),
    "python batch": RecordedSample(python_batch),
    "single capture": RecordedSample(single_capture),
}
