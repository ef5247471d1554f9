"""Requests as Plausible's script and events API send them, by the vendor's documented format."""

import json

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample


def script_pageview(key):
    body = {
        "n": "pageview",
        "v": 31,
        "u": "https://shop.example/a?utm_source=news",
        "d": key,
        "r": "https://www.google.com/",
        "p": {"author": "Ada"},
    }
    return RecordedRequest("/api/event", json.dumps(body).encode(), headers={"content-type": "text/plain"})


def script_engagement(key):
    body = {"n": "engagement", "sd": 80, "d": key, "u": "https://shop.example/a", "p": {}, "e": 4200, "v": 31}
    return RecordedRequest("/api/event", json.dumps(body).encode(), headers={"content-type": "text/plain"})


def api_purchase(key):
    body = {
        "name": "Purchase",
        "url": "https://shop.example/thanks",
        "domain": key,
        "props": '{"order_id": "o-9"}',
        "revenue": {"currency": "EUR", "amount": "12.30"},
    }
    headers = {"content-type": "application/json"}
    return RecordedRequest("/api/event", json.dumps(body).encode(), headers=headers)


SAMPLES = {
    "script pageview": RecordedSample(script_pageview),
    "script engagement": RecordedSample(script_engagement),
    "api purchase": RecordedSample(api_purchase),
}
