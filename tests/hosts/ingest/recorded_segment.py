"""Requests as Segment's published libraries send them, by the vendor's documented format."""

import base64
import json

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"


def python_batch(key):
    """The server library for Python: one batch with Basic authentication."""
    library = {"library": {"name": "analytics-python", "version": "2.3.2"}}
    calls = [
        {
            "type": "identify",
            "userId": "u1",
            "anonymousId": "a1",
            "traits": {"email": "ada@example.com", "plan": "pro"},
            "context": library,
            "integrations": {},
            "messageId": "m-1",
            "timestamp": "2026-07-08T09:00:00.000Z",
            "channel": "server",
        },
        {
            "type": "track",
            "event": "Order Completed",
            "userId": "u1",
            "properties": {"order_id": "o-1", "total": 27.5, "currency": "EUR", "products": []},
            "context": {**library, "ip": "203.0.113.9"},
            "messageId": "m-2",
            "timestamp": "2026-07-08T09:01:00.000Z",
        },
    ]
    body = {"batch": calls, "sentAt": "2026-07-08T09:02:00.000Z", "writeKey": key}
    return RecordedRequest("/v1/batch", json.dumps(body).encode(), headers=_headers(key))


def browser_page(key):
    """The browser library: one call with the key in its body, as text/plain."""
    body = {
        "type": "page",
        "anonymousId": "a2",
        "userId": None,
        "name": "Home",
        "properties": {
            "path": "/",
            "referrer": "https://www.google.com/",
            "search": "?utm_source=news",
            "title": "Shop",
            "url": "https://shop.example/?utm_source=news",
            "name": "Home",
        },
        "context": {
            "page": {"path": "/", "url": "https://shop.example/?utm_source=news", "title": "Shop"},
            "campaign": {"source": "news", "medium": "email", "name": "July"},
            "userAgent": CHROME,
            "locale": "en-GB",
            "library": {"name": "analytics.js", "version": "next-1.81.0"},
            "timezone": "Europe/Berlin",
        },
        "integrations": {},
        "messageId": "ajs-next-1",
        "timestamp": "2026-07-08T09:00:00.000Z",
        "sentAt": "2026-07-08T09:00:00.500Z",
        "writeKey": key,
        "_metadata": {"bundled": ["Segment.io"]},
    }
    return RecordedRequest("/v1/p", json.dumps(body).encode(), headers={"content-type": "text/plain"})


def node_track(key):
    """A single call with Basic authentication."""
    body = {
        "event": "Signed Up",
        "userId": "u3",
        "properties": {"plan": "free"},
        "context": {"device": {"id": "x"}, "traits": {"age": 3}},
        "messageId": "node-1",
        "unknown_field": 1,
    }
    return RecordedRequest("/v1/track", json.dumps(body).encode(), headers=_headers(key))


def _headers(key):
    token = base64.b64encode(f"{key}:".encode()).decode()
    agent = "analytics-python/2.3.2"
    return {"content-type": "application/json", "authorization": f"Basic {token}", "user-agent": agent}


SAMPLES = {
    "python batch": RecordedSample(python_batch, 2),
    "browser page": RecordedSample(browser_page),
    "node track": RecordedSample(node_track),
}
