"""Requests of the Measurement Protocol and of the tag, by the vendor's documented format."""

import json
from urllib.parse import urlencode

from service_core.testing.ingest_protocol import RecordedRequest, RecordedSample


def server_purchase(key):
    body = {
        "client_id": "123.456",
        "user_id": "u1",
        "timestamp_micros": "1783519200000000",
        "user_properties": {"plan": {"value": "pro"}},
        "events": [
            {
                "name": "purchase",
                "params": {
                    "transaction_id": "T-1",
                    "value": 30.03,
                    "currency": "EUR",
                    "session_id": "42",
                    "engagement_time_msec": 100,
                    "items": [{"item_id": "SKU_1", "price": 10.01, "quantity": 3}],
                },
            },
            {"name": "tutorial_begin", "params": {}},
        ],
    }
    query = urlencode({"measurement_id": "G-SITE42", "api_secret": key})
    return RecordedRequest("/mp/collect", json.dumps(body).encode(), query)


def tag_page_view(key):
    query = {
        "v": "2",
        "tid": key,
        "gtm": "45je5",
        "_p": "1",
        "cid": "123.456",
        "ul": "en-gb",
        "sr": "1920x1080",
        "sid": "1783519200",
        "sct": "1",
        "seg": "0",
        "dl": "https://shop.example/a?utm_source=news",
        "dr": "https://www.google.com/",
        "dt": "Shop",
        "en": "page_view",
        "gcs": "G101",
        "ep.author": "Ada",
        "epn.depth": "3",
    }
    return RecordedRequest("/g/collect", query=urlencode(query))


def tag_batch(key):
    shared = {"v": "2", "tid": key, "cid": "123.456", "sid": "1783519200", "dl": "https://shop.example/b"}
    lines = ["en=user_engagement&_et=1200", "en=add_to_cart&cu=EUR&epn.value=5&pr1=idSKU_1~nmTea~pr5~qt1"]
    return RecordedRequest("/g/collect", "\r\n".join(lines).encode(), urlencode(shared))


SAMPLES = {
    "server purchase": RecordedSample(server_purchase, 2),
    "tag page view": RecordedSample(tag_page_view),
    "tag batch": RecordedSample(tag_batch, 2),
}
