"""Requests as Umami's script and Node client send them, by the vendor's documented format."""

import json

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample

PAGE = {
    "hostname": "shop.example",
    "screen": "1920x1080",
    "language": "en-GB",
    "title": "Shop",
    "url": "https://shop.example/a?utm_source=news",
    "referrer": "https://www.google.com/",
}


def _request(key, call_type="event", **payload):
    body = {"type": call_type, "payload": {"website": key, **PAGE, **payload}}
    return RecordedRequest(
        "/api/send", json.dumps(body).encode(), headers={"content-type": "application/json"}
    )


def page_view(key):
    return _request(key)


def relative_page_view(key):
    """Older scripts send path and query."""
    return _request(key, url="/b?utm_medium=email")


def purchase(key):
    data = {"revenue": 12.5, "currency": "EUR", "order_id": "o-4"}
    return _request(key, name="purchase", data=data)


def identify(key):
    return _request(key, "identify", id="u1", data={"email": "ada@example.com"})


SAMPLES = {
    "page view": RecordedSample(page_view),
    "relative page view": RecordedSample(relative_page_view),
    "purchase": RecordedSample(purchase),
    "identify": RecordedSample(identify),
}
